package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// Socket is one WebSocket. Send and Read may be called concurrently.
type Socket struct{ ws *websocket.Conn }

// Refused is the answer of a node that has not upgraded a request to a socket.
type Refused struct {
	Status int
	Body   string
}

func (r *Refused) Error() string { return fmt.Sprintf("refused with %d: %s", r.Status, r.Body) }

// Dial opens a socket to a ws: URL. The error is a *Refused if the node has answered.
func Dial(ctx context.Context, url string, header http.Header) (*Socket, error) {
	return dial(ctx, url, &websocket.DialOptions{HTTPHeader: header})
}

// DialThrough is Dial over a transport of the caller's.
func DialThrough(ctx context.Context, url string, t http.RoundTripper) (*Socket, error) {
	return dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: t}})
}

func dial(ctx context.Context, url string, o *websocket.DialOptions) (*Socket, error) {
	o.CompressionMode = websocket.CompressionDisabled
	ws, response, err := websocket.Dial(ctx, url, o)
	if err != nil {
		if response == nil {
			return nil, err
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body) // the library keeps the first KiB
		return nil, &Refused{response.StatusCode, string(body)}
	}
	ws.SetReadLimit(-1)
	return &Socket{ws}, nil
}

// Read returns the next frame, or why there is none (see websocket.CloseStatus).
func (s *Socket) Read(ctx context.Context) (Frame, error) {
	_, raw, err := s.ws.Read(ctx)
	if err != nil {
		return Frame{}, err
	}
	return parseFrame(raw), nil
}

// Send sends v as JSON in a text frame.
func (s *Socket) Send(ctx context.Context, v any) error {
	return s.ws.Write(ctx, websocket.MessageText, mustJSON(v))
}

// SendRaw sends data as it is.
func (s *Socket) SendRaw(ctx context.Context, kind websocket.MessageType, data []byte) error {
	return s.ws.Write(ctx, kind, data)
}

// Close says goodbye.
func (s *Socket) Close() { s.ws.Close(websocket.StatusNormalClosure, "") }

// Drop closes the connection without a word, as a lost network does.
func (s *Socket) Drop() { s.ws.CloseNow() }
