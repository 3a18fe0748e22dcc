package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// raw plays chunks that are written in short: a type and its fields, such as
//
//	text-delta id=t delta=cut
//	abort reason="model aborted"
//	data-note data={"text":"hi"}
//
// A value is JSON if it can be, else a string.
func raw(lines ...string) func(*player) error {
	chunks := make([]uimessage.Chunk, len(lines))
	for i, line := range lines {
		chunks[i] = short(line)
	}
	return func(p *player) error {
		for _, c := range chunks {
			if err := p.turn.Stream.Chunk(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// short reads one line of raw. A mistake is the program's own.
func short(line string) uimessage.Chunk {
	typ, rest, _ := strings.Cut(line, " ")
	fields := map[string]json.RawMessage{"type": json.RawMessage(strconv.Quote(typ))}
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			panic(fmt.Sprintf("testnode: %q: no value", line))
		}
		fields[name], rest = value(after)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	c, err := uimessage.ParseChunk(data)
	if err != nil {
		panic(fmt.Sprintf("testnode: %q: %v", line, err))
	}
	return c
}

// value takes one value off the front of s.
func value(s string) (v json.RawMessage, rest string) {
	if strings.ContainsAny(s[:1], `{["`) {
		d := json.NewDecoder(strings.NewReader(s))
		if d.Decode(&v) == nil {
			return v, strings.TrimPrefix(s[d.InputOffset():], " ")
		}
	}
	word, rest, _ := strings.Cut(s, " ")
	if word == "true" || word == "false" {
		return json.RawMessage(word), rest
	}
	return json.RawMessage(strconv.Quote(word)), rest
}

func dataParts(p *player) error {
	begin := raw(`start messageMetadata={"model":"fake"}`, "start-step", `data-progress id=p1 data={"pct":0}`)
	rest := raw(
		`data-progress id=p1 data={"pct":50}`, `data-note data={"text":"no id, appended"}`, `data-note data={"text":"second, appended"}`,
		`data-toast id=x transient=true data={"msg":"only live"}`, `data-progress id=p1 data={"pct":100}`,
		"text-start id=t", "text-delta id=t delta=ok", "text-end id=t", `message-metadata messageMetadata={"tokens":3}`,
		"finish-step", `finish finishReason=stop messageMetadata={"done":true}`)
	if err := begin(p); err != nil {
		return err
	}
	if err := p.sleep(30); err != nil {
		return err
	}
	return rest(p)
}

var exotic = raw(
	"start messageId=server-chosen-id", "start-step",
	`tool-input-start toolCallId=dyn1 toolName=mcpThing dynamic=true title="MCP thing"`,
	`tool-input-delta toolCallId=dyn1 inputTextDelta="{\"q\":"`, `tool-input-delta toolCallId=dyn1 inputTextDelta="1}"`,
	`tool-input-available toolCallId=dyn1 toolName=mcpThing input={"q":1} dynamic=true title="MCP thing"`,
	`tool-output-available toolCallId=dyn1 output={"v":2} dynamic=true`,
	`tool-input-error toolCallId=bad1 toolName=getWeather input="{oops" errorText="invalid input"`,
	`tool-input-available toolCallId=oe1 toolName=getWeather input={"city":"X"}`,
	`tool-output-error toolCallId=oe1 errorText="upstream 500"`,
	`tool-input-available toolCallId=den1 toolName=deleteFile input={"path":"p"}`,
	"tool-approval-request approvalId=ap1 toolCallId=den1",
	"tool-approval-response approvalId=ap1 approved=false reason=policy",
	"tool-output-denied toolCallId=den1",
	"custom kind=vendor.thing", `reasoning-file mediaType=image/png url="data:image/png;base64,AA=="`,
	"text-start id=t", "text-delta id=t delta=draft", "text-end id=t", "finish-step", "start-step",
	"text-start id=u", `text-delta id=u delta="will be reset"`, "reset-step",
	"text-start id=v", "text-delta id=v delta=final", "text-end id=v",
	`steering-message id=sm1 parts=[{"type":"text","text":"steer"}]`, "finish-step", "finish finishReason=stop")
