//go:build e2e

package lab

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// HTTP1 and HTTP2 are clients of one protocol each, with connections of their own.
func HTTP1(t *testing.T) *http.Client { return newClient(t, false) }

func HTTP2(t *testing.T) *http.Client { return newClient(t, true) }

func newClient(t *testing.T, two bool) *http.Client {
	transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols), MaxIdleConnsPerHost: 100}
	transport.Protocols.SetHTTP1(!two)
	transport.Protocols.SetUnencryptedHTTP2(two)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: Patience}
}

// Answer is what a client has of a response, with the error that ended it, if one did.
type Answer struct {
	Status  int
	Header  http.Header
	Body    string
	trailer http.Header
	Err     error
}

// shaped reports the code of an error in OpenAI's shape, or an empty string.
func (a Answer) ErrorCode() string {
	m := regexp.MustCompile(`^\{"error":\{"message":"(?:[^"\\]|\\.)+","type":"[a-z_]+",` +
		`"param":(?:null|"(?:[^"\\]|\\.)*"),"code":"([a-z][a-z0-9_]*)"\}\}$`).FindStringSubmatch(strings.TrimSpace(a.Body))
	if m == nil || a.Header.Get("content-type") != "application/json" {
		return ""
	}
	return m[1]
}

func Do(client *http.Client, method, url string, header http.Header, body io.Reader) Answer {
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		return Answer{Err: err}
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if request.Header.Get("content-type") == "" && body != nil {
		request.Header.Set("content-type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{Err: err}
	}
	return ReadAnswer(response)
}

func ReadAnswer(response *http.Response) Answer {
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, string(data), response.Trailer, err}
}

func Ask(client *http.Client, url, body string) Answer {
	return Do(client, http.MethodPost, url, nil, strings.NewReader(body))
}

// IsReset reports whether a client was told loudly that its answer is cut short.
func IsReset(err error, protocol string) bool {
	if protocol == "h2" {
		var reset http2.StreamError
		return errors.As(err, &reset) && reset.Code == http2.ErrCodeInternal
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// AskChat is a Chat request, with headers.
func AskChat(client *http.Client, url string, headers ...string) Answer {
	header := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return Do(client, http.MethodPost, url+ChatPath, header, strings.NewReader(ChatBody(Model, "Hi")))
}

// WantRefused checks an error in OpenAI's shape.
func WantRefused(t *testing.T, a Answer, status int, code string) {
	t.Helper()
	if a.Err != nil || a.Status != status || a.ErrorCode() != code {
		t.Errorf("got %d %q %s (%v), want %d %s", a.Status, a.Header.Get("content-type"), a.Body, a.Err, status, code)
	}
}

// apiError is an error as an OpenAI client reads it.
type apiError struct {
	Error struct {
		Message, Type string
		Param, Code   *string
	}
}

func Post(t *testing.T, url, body string) (*http.Response, []byte) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return response, ReadAll(t, response)
}

func ReadAll(t *testing.T, response *http.Response) []byte {
	t.Helper()
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func WantError(t *testing.T, response *http.Response, body []byte, status int, code string) {
	t.Helper()
	var e apiError
	if err := json.Unmarshal(body, &e); err != nil || e.Error.Message == "" || e.Error.Type == "" || e.Error.Code == nil {
		t.Errorf("not an error in OpenAI's shape (%v): %s", err, body)
		return
	}
	if response.StatusCode != status || *e.Error.Code != code {
		t.Errorf("status %d, code %s, want %d and %s", response.StatusCode, *e.Error.Code, status, code)
	}
	if got := response.Header.Get("content-type"); got != "application/json" {
		t.Errorf("content-type %q", got)
	}
}
