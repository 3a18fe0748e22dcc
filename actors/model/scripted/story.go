package scripted

import "strings"

// story is long enough (about twenty seconds at DemoPace) to try out what
// happens to an answer in the middle.
var story = strings.Join([]string{
	"Once, on a coast where the weather changed its mind four times a day, there grew a young kelp. It was no bigger than a hand, and it had one wish: to see the light above the water.",
	"The older kelp laughed a little. First, they said, you need a holdfast. You need to take hold of the rock so well that nothing can move you. Everything else comes later.",
	"That sounded dull to the young kelp. It wanted to grow upwards, not downwards. But the current pulled at it, and it was frightened, so it put out one small root and felt for the stone.",
	"The stone was rough and cold. The kelp held on. It put out a second root, and a third, each round a different corner, and after a week there were so many that nobody could have counted them.",
	"Then it began to grow. A hand a day, in good light. It met a crab who walked sideways through its branches and complained about the noise of the surf. It met a seal who told it of harbours and ships.",
	"In autumn the first storm came. The sea picked up sand and shells and threw them about. The water turned dark as ink. All night the young kelp was pulled to the left, and to the right, and to the left again.",
	"Twice it thought that it would be torn away. Twice it felt the stone under its roots, in all its rough corners, and the stone did not move, and so neither did the kelp.",
	"In the morning the sea lay flat and blue, as if it had never done anything at all. A few things were gone: an old rope, two buoys, a fishing boat that had not been tied up well.",
	"The kelp was still there. It was bent, and there was sand in its leaves. But it knew exactly where it had stopped the evening before, and it went on growing from there.",
	"Years later it was the tallest of the whole forest. Its tips lay on the surface and looked at the sun, just as it had wished. And when the small ones asked how one comes up so high, it said: hold on first.",
	"The crab, who had grown old, said that he had heard the story before, and that it used to be shorter. He walked off, sideways, as ever. And that is the end.",
	"By the way: I tell this story to everybody, since I am a small script and no real model is connected. " + howToConnect,
}, "\n\n")
