package engine

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Engine is a program that serves models.
type Engine struct {
	// ID begins the names of the kinds of servers that the program can be: vllm is the ID for vllm and vllm-generate.
	ID string
	// Name is the program's own name.
	Name string
	// Owner is what the program writes as the owner of its models, in GET /v1/models.
	Owner string
	// tokenizes is the form of its POST /tokenize.
	tokenizes form
	// Load are its load gauges. They are empty if it has none.
	Load Gauges
	// pages tell what the program is. Of each row the first path counts that is answered.
	pages [][]string
	// recognises reports whether an answer to the first row is the program's. It is for servers whose model list does not
	// tell the owner. nil means that the program is recognised by the owner alone.
	recognises func(*page) bool
}

// Gauges are the names of the metrics of a program's load, at a path in Prometheus' text format. "" means that the
// program does not tell it.
type Gauges struct {
	Path string
	// Running and Waiting are numbers of requests. Cache is the part of the KV cache that is used, from 0 to 1.
	Running, Waiting, Cache string
	// Preemptions counts requests that lost their place in the KV cache to others.
	Preemptions string
	// Queries counts the tokens of prompts, and Hits the part of them that the prefix cache had.
	Queries, Hits string
	// QueueTime is a histogram of the seconds that requests have waited.
	QueueTime string
	// FirstToken is a histogram of the seconds to requests' first tokens.
	FirstToken string
}

// The programs that other packages name.
const (
	VLLM     = "vllm"
	SGLang   = "sglang"
	TRTLLM   = "trtllm"
	LlamaCPP = "llamacpp"
	Ollama   = "ollama"
	// Gateway is a gateway like this one. It serves no model itself.
	Gateway = "harmony-edge"
)

// engines are all programs, in the order in which an unknown server is asked.
//
// Sources: vLLM 0.33, SGLang 0.5.23 (sglang/srt/entrypoints/http_server.py), TensorRT-LLM
// (tensorrt_llm/serve/openai_server.py, tensorrt_llm/metrics/collector.py), llama.cpp (tools/server), Ollama's API.
var engines = [...]Engine{
	{
		ID: SGLang, Name: "SGLang", Owner: "sglang", tokenizes: prompts,
		Load: Gauges{
			Path:    "/metrics",
			Running: "sglang:num_running_reqs", Waiting: "sglang:num_queue_reqs", Cache: "sglang:token_usage",
			// sglang:num_retracted_reqs is a gauge of the last batch, and not this counter.
			Preemptions: "sglang:num_retracted_requests_total",
			Queries:     "sglang:prompt_tokens_total", Hits: "sglang:cached_tokens_total",
			QueueTime: "sglang:queue_time_seconds", FirstToken: "sglang:time_to_first_token_seconds",
		},
		pages:      [][]string{{"/model_info", "/get_model_info"}, {"/server_info", "/get_server_info"}},
		recognises: func(p *page) bool { return p.ModelPath != "" },
	},
	{
		ID: LlamaCPP, Name: "llama.cpp", Owner: "llamacpp", tokenizes: contents,
		Load: Gauges{
			Path: "/metrics", Running: "llamacpp:requests_processing", Waiting: "llamacpp:requests_deferred"},
		pages:      [][]string{{"/props"}},
		recognises: func(p *page) bool { return p.Build != "" },
	},
	{
		ID: Ollama, Name: "Ollama", Owner: "library", pages: [][]string{{"/api/version"}},
		recognises: func(p *page) bool { return p.Version != "" },
	},
	{
		ID: VLLM, Name: "vLLM", Owner: "vllm", tokenizes: prompts,
		Load: Gauges{
			Path:    "/metrics",
			Running: "vllm:num_requests_running", Waiting: "vllm:num_requests_waiting", Cache: "vllm:kv_cache_usage_perc",
			Preemptions: "vllm:num_preemptions_total",
			Queries:     "vllm:prefix_cache_queries_total", Hits: "vllm:prefix_cache_hits_total",
			QueueTime: "vllm:request_queue_time_seconds", FirstToken: "vllm:time_to_first_token_seconds",
		},
		pages:      [][]string{{"/version"}},
		recognises: func(p *page) bool { return p.Version != "" },
	},
	{
		ID: TRTLLM, Name: "TensorRT-LLM", Owner: "tensorrt_llm",
		Load: Gauges{
			Path:    "/prometheus/metrics",
			Running: "trtllm_num_requests_running", Waiting: "trtllm_num_requests_waiting",
			Cache:   "trtllm_kv_cache_utilization",
			Queries: "trtllm_prompt_tokens_total", Hits: "trtllm_prompt_cached_tokens_total",
			QueueTime: "trtllm_request_queue_time_seconds", FirstToken: "trtllm_time_to_first_token_seconds",
		},
		pages: [][]string{{"/version"}},
	},
	{ID: Gateway, Name: "Harmony Edge", Owner: Gateway},
}

// Named returns the program with this ID, or nil.
func Named(id string) *Engine {
	for i := range engines {
		if engines[i].ID == id {
			return &engines[i]
		}
	}
	return nil
}

// Serving returns the program whose servers are of this kind, or nil if any program's may be.
func Serving(kind string) *Engine {
	for i := range engines {
		if engines[i].Serves(kind) {
			return &engines[i]
		}
	}
	return nil
}

// Serves reports whether the program's servers can be of this kind.
func (e *Engine) Serves(kind string) bool {
	rest, ok := strings.CutPrefix(kind, e.ID)
	return ok && (rest == "" || rest[0] == '-')
}

// Misfit returns the kinds that the program's servers can be of, if this kind is another program's. For the kind of any
// server that takes text, and for a program without a kind, it returns nothing.
func (e *Engine) Misfit(kind string) []string {
	other := false
	for i := range engines {
		other = other || &engines[i] != e && engines[i].Serves(kind)
	}
	if e == nil || !other {
		return nil
	}
	return slices.DeleteFunc(contract.ServerKinds(), func(k string) bool { return !e.Serves(k) })
}

// Facts are what a server tells about itself. Texts are short, and have no control characters.
type Facts struct {
	// Engine is the program, or nil if it is unknown.
	Engine *Engine
	// Version is the program's own word, or "".
	Version string
	// Models are the names that the server knows its models by.
	Models []string
	// Context is the context of the model in tokens, or 0 if the server does not tell it.
	Context int
	// ModelType is the architecture of the model, or "" if the server does not tell it.
	ModelType string
}

// ModelType is what servers call the architecture of gpt-oss models.
const ModelType = "gpt_oss"

// Program returns the name and the version of the server's program.
func (f *Facts) Program() string {
	if f.Engine == nil {
		return "unknown"
	}
	return strings.TrimSpace(f.Engine.Name + " " + f.Version)
}

// ReadModels reads an answer to GET /v1/models, and reports whether it is a list of models. Beside the names each
// server has members of its own, which may be missing.
//
// created is not among them: in vLLM, SGLang and TensorRT-LLM it is the time of the answer, and not of the start.
func ReadModels(answer []byte) (f Facts, ok bool) {
	var names struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(answer, &names) != nil || names.Data == nil {
		return f, false
	}
	var more struct {
		Data []struct {
			OwnedBy     string `json:"owned_by"`
			MaxModelLen int    `json:"max_model_len"`
			Meta        struct {
				Context int `json:"n_ctx"`
			} `json:"meta"`
		} `json:"data"`
	}
	_ = json.Unmarshal(answer, &more) // a member of another type is skipped
	f.Models = make([]string, len(*names.Data))
	for i, model := range *names.Data {
		f.Models[i] = model.ID
	}
	if len(more.Data) > 0 {
		first := &more.Data[0]
		f.Engine, f.Context = ownedBy(first.OwnedBy), max(first.MaxModelLen, first.Meta.Context, 0)
	}
	return f, true
}

func ownedBy(name string) *Engine {
	for i := range engines {
		if engines[i].Owner == name {
			return &engines[i]
		}
	}
	return nil
}

// page is the part of the answer of one of a program's pages that is read.
type page struct {
	Version   string `json:"version"`
	Build     string `json:"build_info"`
	ModelPath string `json:"model_path"`
	ModelType string `json:"model_type"`
	Context   int    `json:"context_length"`
	Settings  struct {
		Context int `json:"n_ctx"`
	} `json:"default_generation_settings"`
}

// Ask asks for what the model list does not tell. get reads the JSON at a path into v, and reports whether the server
// answered with it. If the program is unknown, each one's pages are tried.
func (f *Facts) Ask(get func(path string, v any) bool) {
	if f.Engine != nil {
		f.ask(f.Engine, get)
		return
	}
	for i := range engines {
		if e := &engines[i]; e.recognises != nil && f.ask(e, get) {
			f.Engine = e
			return
		}
	}
}

// ask asks for a program's pages, and reports whether the first one is the program's.
func (f *Facts) ask(e *Engine, get func(path string, v any) bool) bool {
	for i, paths := range e.pages {
		var p page
		for _, path := range paths {
			if get(path, &p) {
				break
			}
		}
		if i == 0 && e.recognises != nil && !e.recognises(&p) {
			return false
		}
		f.Version = cmp.Or(Clip(p.Version), Clip(p.Build), f.Version)
		f.ModelType = cmp.Or(Clip(p.ModelType), f.ModelType)
		if context := max(p.Context, p.Settings.Context); context > 0 {
			f.Context = context
		}
	}
	return true
}

// maxText is the length of a server's text that is shown, in bytes.
const maxText = 300

// Clip shortens what a server says, and makes it one line that a terminal can show.
func Clip(text string) string {
	if len(text) > 4*maxText {
		text = text[:4*maxText] // so that the work is bounded
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
