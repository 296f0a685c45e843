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

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// session is one run of [Server].
type session struct {
	options Options
	report  *Report
}

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 1 << 20

var errTooLarge = errors.New("it answers more than 1 MiB")

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
	return s.read(answer, v)
}

// read reads JSON into v, and records if it is none.
func (s *session) read(answer []byte, v any) bool {
	if err := json.Unmarshal(answer, v); err != nil {
		s.report.Requests[len(s.report.Requests)-1].Error = "the answer is not JSON as expected"
		return false
	}
	return true
}

// askModels reads GET /v1/models. It returns an error if there is no answer, or if the server wants a key.
func (s *session) askModels(ctx context.Context) error {
	status, answer, err := s.send(ctx, contract.ModelsPath, nil, questionTimeout)
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
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			OwnedBy     string `json:"owned_by"`
			MaxModelLen int    `json:"max_model_len"`
			Meta        struct {
				Context int `json:"n_ctx"`
			} `json:"meta"`
		} `json:"data"`
	}
	if !s.read(answer, &list) {
		return nil
	}
	for i, m := range list.Data {
		s.report.Models = append(s.report.Models, m.ID)
		if i == 0 {
			s.report.Program = programOf(m.OwnedBy)
			s.report.Context = max(m.MaxModelLen, m.Meta.Context)
		}
	}
	return nil
}

// programOf returns the program that calls itself the owner of its models by this name.
func programOf(owner string) string {
	switch owner {
	case VLLM, SGLang, LlamaCPP, Gateway:
		return owner
	case "library":
		return Ollama
	}
	return ""
}

// askProgram asks for what only some programs tell, until one has answered.
func (s *session) askProgram(ctx context.Context) {
	r := s.report
	for _, q := range []struct {
		program string
		ask     func(context.Context) bool
	}{
		{SGLang, s.askSGLang}, {LlamaCPP, s.askLlamaCPP}, {Ollama, s.askOllama}, {VLLM, s.askVLLM},
	} {
		if r.Program != "" && r.Program != q.program {
			continue
		}
		if q.ask(ctx) {
			r.Program = q.program
			return
		}
	}
}

type versionAnswer struct {
	Version string `json:"version"`
}

func (s *session) askVLLM(ctx context.Context) bool {
	var v versionAnswer
	ok := s.get(ctx, "/version", &v) && v.Version != ""
	s.report.Version = clip(v.Version)
	return ok
}

func (s *session) askOllama(ctx context.Context) bool {
	var v versionAnswer
	ok := s.get(ctx, "/api/version", &v) && v.Version != ""
	s.report.Version = clip(v.Version)
	return ok
}

func (s *session) askSGLang(ctx context.Context) bool {
	var model struct {
		Path string `json:"model_path"`
		Type string `json:"model_type"`
	}
	if !s.get(ctx, "/model_info", &model) && !s.get(ctx, "/get_model_info", &model) || model.Path == "" {
		return false
	}
	s.report.ModelType = clip(model.Type)
	var v versionAnswer
	if s.get(ctx, "/server_info", &v) || s.get(ctx, "/get_server_info", &v) {
		s.report.Version = clip(v.Version)
	}
	return true
}

func (s *session) askLlamaCPP(ctx context.Context) bool {
	var props struct {
		Build    string `json:"build_info"`
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if !s.get(ctx, "/props", &props) || props.Build == "" {
		return false
	}
	s.report.Version = clip(props.Build)
	if props.Settings.Context > 0 {
		s.report.Context = props.Settings.Context
	}
	return true
}

// countMetrics counts the metrics at GET /metrics.
func (s *session) countMetrics(ctx context.Context) {
	status, answer, err := s.send(ctx, "/metrics", nil, questionTimeout)
	if err != nil || status != http.StatusOK {
		return
	}
	s.report.Metrics = bytes.Count(answer, []byte("\n# TYPE "))
	if bytes.HasPrefix(answer, []byte("# TYPE ")) {
		s.report.Metrics++
	}
}
