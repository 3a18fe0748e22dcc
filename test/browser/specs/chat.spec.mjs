import { expect, test } from "../target.mjs";

test("an answer streams in, ends, and is stored as it is shown", async ({ openChat, target }) => {
  const chat = await openChat();
  await chat.begin();
  await chat.ended();
  expect(await chat.answerWords()).toHaveLength(target.say.slowWords);
  expect(chat.endings()).toHaveLength(1);
  await chat.agreesWithNode();
});

test("what the visitor says is in the answer of an echo", async ({ openChat }) => {
  const chat = await openChat();
  await chat.say("a red herring");
  await expect(chat.answer()).toContainText("a red herring");
  await chat.ended();
});

test("Shift+Enter starts a new line and Enter sends both lines", async ({ openChat }) => {
  const chat = await openChat();
  await chat.composer().fill("one");
  await chat.composer().press("Shift+Enter");
  await chat.composer().pressSequentially("two");
  await expect(chat.messages()).toHaveCount(0);
  await chat.composer().press("Enter");
  await chat.ended();
  expect((await chat.shown())[0]).toEqual({ role: "user", text: "one two" });
  await expect(chat.composer()).toHaveValue("");
});

test("a suggestion of an empty room is sent with one click", async ({ openChat }) => {
  const chat = await openChat();
  await chat.button("suggestion").last().click();
  await chat.ended();
  await expect(chat.button("welcome")).toHaveCount(0);
});

test("reasoning is shown apart from the answer and can be opened", async ({ openChat, target }) => {
  const chat = await openChat();
  await chat.say(target.say.think);
  await chat.ended();
  const reasoning = chat.answer().getByTestId("reasoning");
  await expect(reasoning).toHaveCount(1);
  await expect(reasoning.getByTestId("text")).toBeHidden();
  await reasoning.locator("summary").click();
  await expect(reasoning.getByTestId("text")).toBeVisible();
});

test("a room named in the hash is the same room", async ({ openChat }) => {
  const first = await openChat();
  await first.say("hello");
  await first.ended();
  const second = await openChat({ room: first.room, hash: true });
  await expect.poll(() => second.shown()).toEqual(await first.shown());
});

test("a new chat is an empty room of its own, and Back returns to the old one", async ({ openChat }) => {
  const chat = await openChat();
  await chat.say("hello");
  await chat.ended();
  await chat.button("new-chat").click();
  await expect(chat.button("welcome")).toBeVisible();
  expect(new URL(chat.page.url()).searchParams.get("room")).not.toBe(chat.room);
  await chat.page.goBack();
  await expect(chat.messages()).toHaveCount(2);
});

test("a draft outlives a reload", async ({ openChat }) => {
  const chat = await openChat();
  await chat.composer().fill("not sent yet");
  await chat.page.reload();
  await expect(chat.composer()).toHaveValue("not sent yet");
});
