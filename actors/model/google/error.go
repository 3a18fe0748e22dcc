package google

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
)

// apiError is an error as the API tells it, over HTTP or inside a stream.
type apiError struct {
	Code    int
	Message string
	Status  string
	Details []struct {
		Type       string `json:"@type"`
		RetryDelay string
	}
}

// readError reads the body of an error: an object, or a list with one in it.
func readError(body []byte) *apiError {
	var one struct{ Error *apiError }
	if json.Unmarshal(body, &one) != nil || one.Error == nil {
		var list []struct{ Error *apiError }
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			one = list[0]
		}
	}
	if one.Error == nil {
		return &apiError{Message: string(body)}
	}
	return one.Error
}

// answer is the error in general terms. resp is nil inside a stream.
func (e *apiError) answer(resp *http.Response, key string) failure.Answer {
	a := failure.Answer{Provider: provider, Status: e.Code, Kind: e.Status, Message: cmp.Or(e.Message, e.Status), Secret: key}
	if resp != nil {
		a.Status, a.Header = resp.StatusCode, resp.Header
	}
	for _, d := range e.Details {
		if strings.HasSuffix(d.Type, "RetryInfo") {
			a.After, _ = time.ParseDuration(d.RetryDelay) // 0 if it is none
		}
	}
	return a
}
