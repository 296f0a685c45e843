//go:build e2e

package responses

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// talker is a client that has one conversation, turn by turn. It tries again as real clients do.
type talker struct {
	client *http.Client
	url    string
	tenant string
	name   string
	// conversation is the id of its conversation. Without one it continues by previous_response_id.
	conversation string
	streams      bool
	// turns are those that were answered.
	turns []acknowledged
	// lost counts the attempts at each turn whose answer did not come whole, by what came in its place.
	lost []map[string]int
}

// acknowledged is a turn whose whole answer has come.
type acknowledged struct{ id, question, answer string }

// questionOf returns the text of a turn, which no other turn has.
func (k *talker) questionOf(turn int) string { return fmt.Sprintf("%s, turn %d", k.name, turn) }

// retryWait is how long a client waits before it tries again, at first and at most.
const (
	retryWait    = 100 * time.Millisecond
	maxRetryWait = time.Second
)

// persist does something until it succeeds. It returns what went wrong before, by name, and an error that a client does
// not try again after.
func persist(do func() (retry string, err error)) (lost map[string]int, err error) {
	lost = map[string]int{}
	wait := retryWait
	for end := time.Now().Add(lab.Patience); ; wait = min(2*wait, maxRetryWait) {
		retry, err := do()
		switch {
		case err != nil:
			return lost, err
		case retry == "":
			return lost, nil
		case time.Now().After(end):
			return lost, fmt.Errorf("no answer for %s, at last %s", lab.Patience, retry)
		}
		lost[retry]++
		time.Sleep(wait)
	}
}

func (k *talker) header() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "X-Tenant": {k.tenant}}
}

// retryOf names what went wrong if a client tries again after it.
func retryOf(a lab.Answer) string {
	switch {
	case a.Err != nil:
		return "connection"
	case a.Status >= http.StatusBadGateway && a.Status <= http.StatusGatewayTimeout:
		return fmt.Sprint(a.Status)
	case a.ErrorCode() == "conversation_locked":
		return "conversation_locked"
	}
	return ""
}

// begin creates the conversation.
func (k *talker) begin() error {
	_, err := persist(func() (string, error) {
		a := lab.Do(k.client, http.MethodPost, k.url+"/v1/conversations", k.header(), strings.NewReader("{}"))
		if retry := retryOf(a); retry != "" {
			return retry, nil
		}
		if a.Status != http.StatusOK {
			return "", fmt.Errorf("status %d: %s", a.Status, a.Body)
		}
		var c struct{ ID string }
		err := json.Unmarshal([]byte(a.Body), &c)
		k.conversation = c.ID
		return "", err
	})
	return err
}

// talk asks the next question until it is answered.
func (k *talker) talk() error {
	question := k.questionOf(len(k.turns))
	body := map[string]any{"model": lab.Model, "input": question, "stream": k.streams}
	switch {
	case k.conversation != "":
		body["conversation"] = k.conversation
	case len(k.turns) > 0:
		body["previous_response_id"] = k.turns[len(k.turns)-1].id
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	lost, err := persist(func() (string, error) {
		r, retry, err := k.ask(string(text))
		if err != nil || retry != "" {
			return retry, err
		}
		if !strings.Contains(r.Text(), question) {
			return "", fmt.Errorf("the answer to %q is %q", question, r.Text())
		}
		k.turns = append(k.turns, acknowledged{r.ID, question, r.Text()})
		return "", nil
	})
	k.lost = append(k.lost, lost)
	return err
}

// ask sends a request and reads the answer to its end.
func (k *talker) ask(body string) (r *response, retry string, err error) {
	a := lab.Do(k.client, http.MethodPost, k.url+"/v1/responses", k.header(), strings.NewReader(body))
	if retry := retryOf(a); retry != "" {
		return nil, retry, nil
	}
	if a.Status != http.StatusOK {
		return nil, "", fmt.Errorf("status %d: %s", a.Status, a.Body)
	}
	data := a.Body
	if k.streams {
		frames := strings.Split(strings.TrimSpace(a.Body), "\n\n")
		var last struct {
			Type     string
			Response json.RawMessage
		}
		_, event, _ := strings.Cut(frames[len(frames)-1], "data: ")
		if err := json.Unmarshal([]byte(event), &last); err != nil {
			return nil, "", fmt.Errorf("a stream that ends well ends with %s", frames[len(frames)-1])
		}
		if last.Type == "response.failed" {
			return nil, last.Type, nil
		}
		data = string(last.Response)
	}
	r = &response{}
	if err := json.Unmarshal([]byte(data), r); err != nil {
		return nil, "", err
	}
	if r.Status != "completed" {
		return nil, "", fmt.Errorf("an answer that is not complete: %s", data)
	}
	return r, "", nil
}
