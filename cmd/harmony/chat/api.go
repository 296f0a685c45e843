package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// api is what both APIs have in common.
type api struct {
	base, key, model, effort, instructions string
	tools                                  []map[string]any
}

// maxBody is the most that is read of a refusal or a list of models, in bytes.
const maxBody = 4 << 20

func (a *api) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the gateway cannot be asked: %w; is harmony up running?", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	var refusal struct{ Error apiError }
	if json.Unmarshal(text, &refusal) != nil || refusal.Error.Message == "" {
		return nil, fmt.Errorf("%s answers %s: is it a gateway?", a.base, resp.Status)
	}
	if strings.EqualFold(refusal.Error.Message, http.StatusText(http.StatusNotFound)) { // as inference servers say it
		return nil, fmt.Errorf("%s has no %s: is it the gateway, and not the server behind it?", a.base, path)
	}
	return nil, fmt.Errorf("%d %w", resp.StatusCode, &refusal.Error)
}

// apiError is an error in the form of both APIs.
type apiError struct {
	Message string `json:"message"`
	Code    any    `json:"code"`
}

// Error implements error.
func (e *apiError) Error() string {
	if code, ok := e.Code.(string); ok && code != "" {
		return code + ": " + e.Message
	}
	return e.Message
}

// firstModel returns the first model that the gateway lists.
func (a *api) firstModel(ctx context.Context) (string, error) {
	r, err := a.request(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&list); err != nil || len(list.Data) == 0 {
		return "", errors.New("the gateway lists no model; name one with --model")
	}
	return list.Data[0].ID, nil
}

// stream posts a request and calls event with the data of each event, until it returns an error or the stream ends.
func (a *api) stream(ctx context.Context, path string, body any, event func(data []byte) error) error {
	r, err := a.request(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var d sse.Decoder
	piece := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(piece)
		d.Write(piece[:n])
		for {
			data, ok := d.Next()
			if !ok {
				break
			}
			if err := event(data); err != nil {
				return err
			}
		}
		switch {
		case d.Broken():
			return fmt.Errorf("an event has more than %d MiB", sse.MaxEvent>>20)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the stream broke off: %w", err)
		}
	}
}

// errCut is the error of a stream without an end.
var errCut = errors.New("the stream ended before the answer did")

// readTools reads a file of tools.
func readTools(file string) (tools []map[string]any, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &tools); err != nil {
		return nil, fmt.Errorf("%s is not an array of tools: %w", file, err)
	}
	return tools, nil
}

// toolsFor returns the tools in the form of Chat, or in that of Responses: a function stands one level higher there.
func (a *api) toolsFor(responses bool) (all []map[string]any) {
	for _, t := range a.tools {
		inner, nested := t["function"].(map[string]any)
		switch {
		case t["type"] != "function" || nested != responses:
		case responses:
			flat := map[string]any{"type": "function"}
			for name, value := range inner {
				flat[name] = value
			}
			t = flat
		default:
			function := map[string]any{}
			for name, value := range t {
				if name != "type" {
					function[name] = value
				}
			}
			t = map[string]any{"type": "function", "function": function}
		}
		all = append(all, t)
	}
	return all
}

func indent(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}
