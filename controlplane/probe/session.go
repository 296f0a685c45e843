package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// session is one run of [Server].
type session struct {
	options Options
	report  *Report
	// greeting is the answer to a conversation, if there is one.
	greeting *completion
}

// path returns the path at which the server takes path.
func (s *session) path(path string) string {
	m := contract.Model{APIPath: s.options.APIPath}
	return m.ServerPath(path)
}

// maxAnswer is how much of an answer is read, in bytes. Each event of an SGLang repeats those before it: maxTagTokens
// take 2 MB.
const maxAnswer = 4 << 20

var errTooLarge = errors.New("it answers more than 4 MiB")

// send sends a request, and returns the status and the body of its answer. body is nil for a GET.
func (s *session) send(ctx context.Context, path string, body []byte, timeout time.Duration) (status int, answer []byte,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	s.report.Requests = append(s.report.Requests, Request{Method: method, Path: path})
	record := &s.report.Requests[len(s.report.Requests)-1]
	fail := func(err error) (int, []byte, error) {
		record.Error = pools.Cause(err, "no answer in HTTP") // err's own text may have addresses
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.options.URL, "/")+path,
		bytes.NewReader(body))
	if err != nil {
		return fail(err)
	}
	// llama.cpp's server says that it keeps the connection of a stream, and closes it when it is used again.
	request.Close = true
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.options.Authorization != "" {
		request.Header.Set("Authorization", s.options.Authorization)
	}
	// A transport follows no redirect: the filter does not either.
	response, err := s.options.Transport.RoundTrip(request)
	if err != nil {
		return fail(err)
	}
	defer response.Body.Close()
	record.Status = response.StatusCode
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return fail(fmt.Errorf("the answer breaks off: %w", err))
	}
	if len(answer) > maxAnswer {
		return fail(errTooLarge)
	}
	return response.StatusCode, answer, nil
}

// get reads the JSON at a path into v, and reports whether that is what the server answers there.
func (s *session) get(ctx context.Context, path string, v any) bool {
	status, answer, err := s.send(ctx, path, nil, questionTimeout)
	if err != nil || status != http.StatusOK {
		return false
	}
	if err := json.Unmarshal(answer, v); err != nil {
		s.report.Requests[len(s.report.Requests)-1].Error = "the answer is not JSON as expected"
		return false
	}
	return true
}

// askModels reads GET /v1/models. It returns an error if there is no answer, or if the server wants a key.
func (s *session) askModels(ctx context.Context) error {
	status, answer, err := s.send(ctx, s.path(contract.ModelsPath), nil, questionTimeout)
	if err != nil {
		return err
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrUnauthorized
	case http.StatusOK:
	default:
		return nil
	}
	facts, ok := engine.ReadModels(answer)
	if !ok {
		s.report.Requests[len(s.report.Requests)-1].Error = "the answer is not a list of models"
	}
	s.report.Facts = facts
	return nil
}

// compareTexts asks the server for the ids of each text.
func (s *session) compareTexts(ctx context.Context, texts []string) {
	first := true
	s.report.Texts = s.report.Compare(texts, s.report.Model, func(request []byte) ([]byte, bool) {
		status, answer, err := s.send(ctx, engine.TokenizePath, request, questionTimeout)
		ok := err == nil && status == http.StatusOK
		if ok && !first {
			s.report.Requests = s.report.Requests[:len(s.report.Requests)-1] // one of them is enough to report
		}
		first = false
		return answer, ok
	})
}

// readMetrics reads the server's metrics and, of a known program, its load.
func (s *session) readMetrics(ctx context.Context) {
	gauges := engine.Gauges{Path: "/metrics"}
	if e := s.report.Engine; e != nil && e.Load.Path != "" {
		gauges = e.Load
	}
	status, answer, err := s.send(ctx, gauges.Path, nil, questionTimeout)
	if err != nil || status != http.StatusOK {
		return
	}
	s.report.Load = gauges.Read(answer)
	s.report.Metrics = bytes.Count(answer, []byte("\n# TYPE "))
	if bytes.HasPrefix(answer, []byte("# TYPE ")) {
		s.report.Metrics++
	}
}
