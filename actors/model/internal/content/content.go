// Package content puts the pieces of a message into forms that more than one
// provider wants.
package content

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// Resolve decodes a file whose URL holds its data.
func Resolve(c model.Content) (model.Content, error) {
	rest, ok := strings.CutPrefix(c.URL, "data:")
	if !ok || len(c.Data) > 0 {
		return c, nil
	}
	head, body, found := strings.Cut(rest, ",")
	if !found {
		return c, fmt.Errorf("file %q: its data URL has no comma", c.Filename)
	}
	mediaType, encoded := strings.CutSuffix(head, ";base64")
	var err error
	if encoded {
		c.Data, err = base64.StdEncoding.DecodeString(body)
	} else {
		body, err = url.PathUnescape(body)
		c.Data = []byte(body)
	}
	if err != nil {
		return c, fmt.Errorf("file %q: its data URL cannot be decoded: %w", c.Filename, err)
	}
	if c.MediaType == "" {
		c.MediaType = mediaType
	}
	c.URL = ""
	return c, nil
}

// FileURL is the file's URL, or its data as a data URL.
func FileURL(c model.Content) string {
	if len(c.Data) == 0 {
		return c.URL
	}
	return "data:" + c.MediaType + ";base64," + base64.StdEncoding.EncodeToString(c.Data)
}

// Filename is the file's name; OpenAI wants one for each file.
func Filename(c model.Content) string {
	if c.Filename != "" {
		return c.Filename
	}
	if ext, err := mime.ExtensionsByType(c.MediaType); err == nil && len(ext) > 0 {
		return "file" + ext[0]
	}
	return "file"
}

// TextFile shows a file of text as text, which each model can read.
func TextFile(c model.Content) string {
	return fmt.Sprintf("<file name=%q>\n%s\n</file>", Filename(c), c.Data)
}

// ToolInput is the call's input as a string of JSON. Input that is no object,
// such as a model's broken JSON, is wrapped: providers refuse the whole
// conversation otherwise.
func ToolInput(c model.Content) string {
	raw := bytes.TrimSpace(c.Input)
	switch {
	case len(raw) == 0:
		return "{}"
	case raw[0] == '{' && json.Valid(raw):
		return string(c.Input)
	}
	wrapped, err := json.Marshal(map[string]string{"invalid": string(c.Input)})
	if err != nil {
		return "{}" // cannot be: a string always marshals
	}
	return string(wrapped)
}

// ToolOutput is the result's output as text: a JSON string is unpacked. A result
// without output is its Text.
func ToolOutput(c model.Content) string {
	if len(c.Output) == 0 {
		return c.Text
	}
	var s string
	if json.Unmarshal(c.Output, &s) == nil && bytes.TrimSpace(c.Output)[0] == '"' {
		return s
	}
	return string(c.Output)
}

// Schema is the tool's schema as the libraries want it.
func Schema(t model.Tool) (map[string]any, error) {
	if len(t.Schema) == 0 {
		return map[string]any{"type": "object", "properties": map[string]any{}}, nil
	}
	d := json.NewDecoder(bytes.NewReader(t.Schema))
	d.UseNumber() // as it was written
	var schema map[string]any
	if err := d.Decode(&schema); err != nil {
		return nil, fmt.Errorf("schema of tool %q is not a JSON object: %w", t.Name, err)
	}
	return schema, nil
}
