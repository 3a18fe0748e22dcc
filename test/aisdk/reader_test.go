package aisdk

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// A question is a stream for the reader, and the message that it goes on with.
type question struct {
	Message *uimessage.Message `json:"message"`
	Chunks  []uimessage.Chunk  `json:"chunks"`
}

// An answer is what both versions make of it.
type answer struct{ AI6, AI7 reading }

type reading struct {
	Message json.RawMessage
	Error   string
}

// ask has all questions read by one Node.js process, and returns the answers in order.
func ask(t *testing.T, questions []question) []answer {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("Node.js is missing, which runs the AI SDK's reader; `make setup` installs it")
	}
	if _, err := os.Stat("node_modules/ai7"); err != nil {
		t.Fatal("test/aisdk/node_modules is missing, which holds the AI SDK; `make test-aisdk` installs it (npm ci)")
	}
	cmd := exec.CommandContext(t.Context(), node, "reader.mjs")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- send(in, questions) }()
	answers := make([]answer, 0, len(questions))
	lines := json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	for range questions {
		var a answer
		if err := lines.Decode(&a); err != nil {
			_ = cmd.Wait()
			t.Fatalf("answer %d: %v\n%s", len(answers), err, stderr.Bytes())
		}
		answers = append(answers, a)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return answers
}

func send(in io.WriteCloser, questions []question) error {
	lines := json.NewEncoder(in)
	for i := range questions {
		if err := lines.Encode(&questions[i]); err != nil {
			return err
		}
	}
	return in.Close()
}
