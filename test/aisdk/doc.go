// Package aisdk compares protocol/uimessage with the AI SDK itself: streams made
// up at random go through a Guard as a turn's would, and are then folded by our
// Fold and by the reader of the published npm package, in the two versions that
// clients have. Where both may differ is written down in compare_test.go, each
// with its reason.
//
// It needs Node.js and `npm ci` in this folder: make test-aisdk.
package aisdk
