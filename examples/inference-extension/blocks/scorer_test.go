package blocks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/datalayer"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/scheduling"
)

func scorerWith(t *testing.T, parameters string) *Scorer {
	t.Helper()
	p, err := Factory("blocks", json.RawMessage(parameters), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*Scorer)
}

func podCalled(name string) scheduling.Endpoint {
	return scheduling.NewEndpoint(&datalayer.EndpointMetadata{
		NamespacedName: types.NamespacedName{Namespace: "models", Name: name}}, datalayer.NewMetrics(), nil)
}

// prompt returns a request of n blocks of a tenant.
func prompt(tenant, n int) *scheduling.LLMRequest {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%016x", tenant<<32+i))
	}
	return &scheduling.LLMRequest{Headers: map[string]string{Header: strings.Join(all, ",")}}
}

// send notes that a pod gets a request.
func (s *Scorer) send(r *scheduling.LLMRequest, to scheduling.Endpoint) {
	s.PreRequest(context.Background(), r, &scheduling.SchedulingResult{PrimaryProfileName: "default",
		ProfileResults: map[string]*scheduling.ProfileRunResult{"default": {TargetEndpoints: []scheduling.Endpoint{to}}}})
}

func TestScore(t *testing.T) {
	s := scorerWith(t, "")
	a, b := podCalled("a"), podCalled("b")
	score := func(r *scheduling.LLMRequest, wantA, wantB float64) {
		t.Helper()
		got := s.Score(context.Background(), nil, r, []scheduling.Endpoint{a, b})
		if len(got) != 2 || got[a] != wantA || got[b] != wantB {
			t.Errorf("the scores are %v and %v of %d, want %v and %v", got[a], got[b], len(got), wantA, wantB)
		}
	}
	score(prompt(1, 10), 0, 0)
	s.send(prompt(1, 10), a)
	s.send(prompt(1, 5), b)
	s.send(prompt(2, 7), b)
	score(prompt(1, 20), 0.5, 0.25)
	score(prompt(2, 7), 0, 1)
	score(prompt(3, 7), 0, 0)
	for _, header := range []string{"", "x", "0000000000000001,", strings.Repeat("0", 17)} {
		score(&scheduling.LLMRequest{Headers: map[string]string{Header: header}}, 0, 0)
	}
	score(nil, 0, 0)
}

func TestBounds(t *testing.T) {
	s := scorerWith(t, `{"blocksPerPod": 100}`)
	a := podCalled("a")
	for tenant := range 50 {
		s.send(prompt(tenant, 60), a)
	}
	known := s.pods[a.GetMetadata().NamespacedName]
	if n := known.blocks.Len(); n != 100 {
		t.Errorf("the pod has %d blocks", n)
	}
	// The last one is there, and of the one before it the first blocks.
	for tenant, want := range map[int]float64{49: 1, 48: 40.0 / 60, 47: 0} {
		if got := s.Score(context.Background(), nil, prompt(tenant, 60), []scheduling.Endpoint{a})[a]; got != want {
			t.Errorf("the tenant %d has the score %v, want %v", tenant, got, want)
		}
	}
	s.send(prompt(1, 1<<20), a)
	at := time.Now()
	s.now = func() time.Time { return at.Add(2 * forgetAfter) }
	s.send(prompt(1, 1), podCalled("b"))
	if len(s.pods) != 1 {
		t.Errorf("%d pods are known after one has been silent for long", len(s.pods))
	}
	s.PreRequest(context.Background(), prompt(1, 1), nil)
	s.PreRequest(context.Background(), prompt(1, 1), &scheduling.SchedulingResult{})
}

func TestFactoryRefuses(t *testing.T) {
	for _, parameters := range []string{`{"blocksPerPod": 0}`, `{"blocksPerPod": -1}`, `{"blocksPerPod": 99999999}`, `[]`} {
		if _, err := Factory("blocks", json.RawMessage(parameters), nil); err == nil ||
			!strings.HasPrefix(err.Error(), Type+": ") {
			t.Errorf("%s: got %v", parameters, err)
		}
	}
}
