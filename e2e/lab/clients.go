//go:build e2e

package lab

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// HTTP1 returns a client that speaks HTTP/1.1, with connections of its own.
func HTTP1(t *testing.T) *http.Client { return newClient(t, false) }

// HTTP2 returns a client that speaks HTTP/2 in clear text, with connections of its own.
func HTTP2(t *testing.T) *http.Client { return newClient(t, true) }

func newClient(t *testing.T, two bool) *http.Client {
	transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols), MaxIdleConnsPerHost: 100}
	transport.Protocols.SetHTTP1(!two)
	transport.Protocols.SetUnencryptedHTTP2(two)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: Patience}
}

// Answer is what a client received of a response, and the error that ended it, if one did.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Err    error
}

// ErrorCode returns the code of an error in OpenAI's shape, or an empty string if the answer is something else.
func (a Answer) ErrorCode() string {
	m := regexp.MustCompile(`^\{"error":\{"message":"(?:[^"\\]|\\.)+","type":"[a-z_]+",` +
		`"param":(?:null|"(?:[^"\\]|\\.)*"),"code":"([a-z][a-z0-9_]*)"\}\}$`).FindStringSubmatch(strings.TrimSpace(a.Body))
	if m == nil || a.Header.Get("content-type") != "application/json" {
		return ""
	}
	return m[1]
}

// Do performs a request. Unless header says otherwise, a body is JSON.
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

// ReadAnswer reads a response to its end.
func ReadAnswer(response *http.Response) Answer {
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, string(data), err}
}

// Ask posts a JSON body.
func Ask(client *http.Client, url, body string) Answer {
	return Do(client, http.MethodPost, url, nil, strings.NewReader(body))
}

// IsReset reports whether err shows a client of the protocol ("h1" or "h2") that its answer was cut short.
func IsReset(err error, protocol string) bool {
	if protocol == "h2" {
		var reset http2.StreamError
		return errors.As(err, &reset) && reset.Code == http2.ErrCodeInternal
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// AskChat sends a Chat request for [Model], with headers: names and values by turns.
func AskChat(client *http.Client, url string, headers ...string) Answer {
	header := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return Do(client, http.MethodPost, url+ChatPath, header, strings.NewReader(ChatBody(Model, "Hi")))
}

// WantRefused fails the test unless the answer is an error in OpenAI's shape with this status and code.
func WantRefused(t *testing.T, a Answer, status int, code string) {
	t.Helper()
	if a.Err != nil || a.Status != status || a.ErrorCode() != code {
		t.Errorf("got %d %q %s (%v), want %d %s", a.Status, a.Header.Get("content-type"), a.Body, a.Err, status, code)
	}
}
