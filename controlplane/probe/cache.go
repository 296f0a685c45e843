package probe

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Cache is what came of a try whether a server finds in its cache what the model wrote: as the next turn of an agent's
// loop needs it.
type Cache struct {
	// Prompt and Written are the tokens of the first request and of its answer. The second request begins with both.
	Prompt, Written int
	// Found is how many tokens of the second request were in the cache.
	Found int
	// Problem is why nothing is known of it, or "".
	Problem string
}

// KeepsWritten reports whether the server keeps what the model wrote.
func (c *Cache) KeepsWritten() bool { return c.Problem == "" && c.Found > c.Prompt }

// The written tokens are more than two blocks of a vLLM on a CPU, which has the largest: 128.
const (
	cacheBlock   = 128
	cacheWritten = 2*cacheBlock + cacheBlock/2
)

// tryCache asks a vLLM for an answer, and then for one to a prompt that begins with the first prompt and that answer.
func (s *session) tryCache(ctx context.Context) {
	k := s.report.Kind()
	if e := s.report.Engine; e == nil || e.ID != engine.VLLM || k == nil || k.TextPrompts || k.Conversations {
		return
	}
	kind, ok := backend.Named(k.Name)
	if !ok {
		return
	}
	s.report.Cache = &Cache{}
	if err := s.askTwice(ctx, kind, s.report.Cache); err != nil {
		s.report.Cache.Problem = err.Error()
	}
}

func (s *session) askTwice(ctx context.Context, kind backend.Kind, c *Cache) error {
	// No earlier probe has left this prompt in the cache.
	words := "Count as far as you can. " + rand.Text() + strings.Repeat(" and on", cacheBlock)
	greeting, _ := engine.Greeting()
	first := o200k.Tokenizer().AppendEncodeSpecial(nil,
		strings.Replace(engine.Spelling(greeting), "Say hello.", words, 1))
	request := backend.Request{Model: s.report.Model, Prompt: first, MaxTokens: cacheWritten, Choices: 1,
		Sampling: backend.Sampling{Extras: []backend.Member{{Name: "min_tokens", JSON: strconv.Itoa(cacheWritten)}}}}
	a, err := s.complete(ctx, kind, &request)
	if err != nil {
		return err
	}
	c.Prompt, c.Written = len(first), len(a.tokens)
	if c.Written <= 2*cacheBlock {
		return fmt.Errorf("the model wrote only %d tokens", c.Written)
	}
	request.Prompt = append(append(first, a.tokens...), o200k.Tokenizer().AppendEncodeSpecial(nil,
		"<|end|><|start|>user<|message|>Go on.<|end|><|start|>assistant")...)
	request.MaxTokens, request.Sampling = 1, backend.Sampling{}
	queries, hits, counted := s.cacheCounts(ctx)
	if a, err = s.complete(ctx, kind, &request); err != nil {
		return err
	}
	if told := cachedTokens.FindAllSubmatch(a.raw, -1); told != nil {
		c.Found, err = strconv.Atoi(string(told[len(told)-1][1]))
		return err
	}
	asked, found, countedAgain := s.cacheCounts(ctx)
	if !counted || !countedAgain {
		return fmt.Errorf("it tells no cached tokens; start it with --enable-prompt-tokens-details")
	}
	if asked-queries != len(request.Prompt) {
		return fmt.Errorf("it has other requests, and tells cached tokens only of all together; ask when it is idle, " +
			"or start it with --enable-prompt-tokens-details")
	}
	c.Found = found - hits
	return nil
}

var (
	cachedTokens = regexp.MustCompile(`"cached_tokens": ?(\d+)`)
	cacheCount   = regexp.MustCompile(`(?m)^vllm:prefix_cache_(queries|hits)(?:_total)?(?:\{[^}]*\})? (\S+)$`)
)

// cacheCounts returns how many tokens a vLLM has looked for in its cache, and how many it has found.
func (s *session) cacheCounts(ctx context.Context) (queries, hits int, ok bool) {
	status, answer, err := s.send(ctx, "/metrics", nil, questionTimeout)
	if err != nil || status != http.StatusOK {
		return 0, 0, false
	}
	counts, seen := map[string]int{}, map[string]bool{}
	for _, m := range cacheCount.FindAllSubmatch(answer, -1) {
		n, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return 0, 0, false
		}
		counts[string(m[1])] += int(n)
		seen[string(m[1])] = true
	}
	return counts["queries"], counts["hits"], len(seen) == 2
}
