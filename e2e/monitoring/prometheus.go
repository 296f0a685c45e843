//go:build e2e

package monitoring

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// examples is the folder of what is tested.
func examples(name string) string { return lab.File(filepath.Join("examples/monitoring", name)) }

// prometheus is a run of the real Prometheus.
type prometheus struct {
	t      *testing.T
	url    string
	client *http.Client
}

// startPrometheus runs it with the example's configuration and rules. It scrapes the fleet every second, and its alerts
// fire at once.
func startPrometheus(t *testing.T, f *fleet) *prometheus {
	t.Helper()
	folder, address := t.TempDir(), lab.FreeAddress(t)
	config := read(t, examples("prometheus.yml"))
	for there, here := range f.targets {
		if !strings.Contains(config, there) {
			t.Fatalf("prometheus.yml does not scrape %s", there)
		}
		config = strings.ReplaceAll(config, there, here)
	}
	config = strings.ReplaceAll(config, "interval: 15s", "interval: 1s")
	rules := strings.ReplaceAll(read(t, examples("alerts.yaml")), "        for: ", "        for: 0s # ")
	for name, text := range map[string]string{"prometheus.yml": config, "alerts.yaml": rules} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(lab.Tool(t, "HARMONY_PROMETHEUS"), "prometheus"), "--config.file=prometheus.yml",
		"--storage.tsdb.path=data", "--web.listen-address="+address)
	cmd.Dir = folder
	lab.Run(t, cmd)
	p := &prometheus{t: t, url: "http://" + address, client: lab.HTTP1(t)}
	for end := time.Now().Add(lab.ReadyLimit); ; time.Sleep(20 * time.Millisecond) {
		if a := lab.Do(p.client, http.MethodGet, p.url+"/-/ready", nil, nil); a.Status == http.StatusOK {
			return p
		} else if time.Now().After(end) {
			t.Fatalf("Prometheus is not ready: %+v", a)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// get asks Prometheus' API.
func (p *prometheus) get(path string, parameters url.Values, into any) error {
	p.t.Helper()
	a := lab.Do(p.client, http.MethodGet, p.url+"/api/v1/"+path+"?"+parameters.Encode(), nil, nil)
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil || answer.Status != "success" {
		return fmt.Errorf("%s: %s: %w", path, answer.Error, errors.Join(err, a.Err))
	}
	return json.Unmarshal(answer.Data, into)
}

// series are the labels of a series and its value now.
type series struct {
	labels map[string]string
	value  float64
}

// query returns what a query gives now.
func (p *prometheus) query(text string) ([]series, error) {
	p.t.Helper()
	var got struct {
		ResultType string
		Result     []struct {
			Metric map[string]string
			Value  []any
		}
	}
	if err := p.get("query", url.Values{"query": {text}}, &got); err != nil {
		return nil, err
	}
	var all []series
	for _, r := range got.Result {
		value, err := strconv.ParseFloat(r.Value[1].(string), 64)
		if err != nil {
			return nil, err
		}
		all = append(all, series{r.Metric, value})
	}
	return all, nil
}

// answered reports whether a query gives a number at all.
func (p *prometheus) answered(text string) (bool, error) {
	p.t.Helper()
	all, err := p.query(text)
	return slices.ContainsFunc(all, func(s series) bool { return !math.IsNaN(s.value) }), err
}

// labels returns the labels that the series of a metric have, and none if there are no series.
func (p *prometheus) labels(metric string) (names []string) {
	p.t.Helper()
	if err := p.get("labels", url.Values{"match[]": {metric}}, &names); err != nil {
		p.t.Fatal(err)
	}
	return names
}

// rule is an alert as Prometheus evaluates it.
type rule struct {
	Name, Query, Health, LastError, State string
	Alerts                                []struct{ Labels map[string]string }
}

// await does something again and again until some alerts fire and others do not. On a busy machine an alert such as the
// one for a program that does not answer can fire for a moment, since here none waits.
func (p *prometheus) await(provoke func(), fire, silent []string) {
	p.t.Helper()
	for end := time.Now().Add(lab.Patience); ; time.Sleep(50 * time.Millisecond) {
		provoke()
		var wrong []rule
		for _, r := range p.rules() {
			if slices.Contains(fire, r.Name) && r.State != "firing" || slices.Contains(silent, r.Name) && len(r.Alerts) > 0 {
				wrong = append(wrong, r)
			}
		}
		if len(wrong) == 0 {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%+v", wrong)
		}
	}
}

// rules returns them all.
func (p *prometheus) rules() (all []rule) {
	p.t.Helper()
	var got struct{ Groups []struct{ Rules []rule } }
	if err := p.get("rules", nil, &got); err != nil {
		p.t.Fatal(err)
	}
	for _, g := range got.Groups {
		all = append(all, g.Rules...)
	}
	return all
}
