package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/harmonyedge/harmonyedge/inspect/explain"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

// Ended prints the line of a request that has ended, and ends its transcript.
func (p *Printer) Ended(s *record.Summary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tag := p.end(s.ID)
	p.interrupt()
	if tag != "" {
		tag = p.Paint(faint, tag) + " "
	}
	p.print(tag + p.summary(s) + "\n")
}

// maxName is how many columns of a name are printed.
const maxName = 40

// summary returns the line of a request.
func (p *Printer) summary(s *record.Summary) string {
	var columns []string
	add := func(c explain.Colour, text string) { columns = append(columns, p.Paint(c, text)) }
	ended := s.Time.Add(time.Duration(s.DurationMS) * time.Millisecond).Local()
	add(faint, ended.Format(time.TimeOnly))
	add(statusColour(s.Status), statusText(s.Status))
	add(plain, p.column(&p.apiWidth, cmp.Or(s.API, s.Path)))
	add(bold, p.column(&p.modelWidth, cmp.Or(s.Model, "-")))
	if s.PromptTokens > 0 || s.CompletionTokens > 0 {
		add(plain, fmt.Sprintf("%7s in %7s out", grouped(s.PromptTokens), grouped(s.CompletionTokens)))
	}
	if s.FirstTokenMS >= 0 {
		add(plain, fmt.Sprintf("first %9s", milliseconds(s.FirstTokenMS)))
	}
	if s.TokensPerSecond > 0 {
		add(plain, fmt.Sprintf("%6.1f tokens/s", s.TokensPerSecond))
	}
	if s.DurationMS > 0 || s.Broken == "" {
		add(plain, fmt.Sprintf("%9s", milliseconds(s.DurationMS)))
	}
	if s.Finish != "" {
		add(finishColour(s), name(s.Finish))
	}
	if s.Cut != "" {
		add(alert, "cut by: "+name(s.Cut))
	}
	if s.EarlyEnd != "" {
		add(faint, "ended early: "+name(s.EarlyEnd))
	}
	if s.CacheMissed != "" {
		add(commentary, "cache missed: "+name(s.CacheMissed)+", "+grouped(s.ComputedAgain)+" tokens again")
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Recoveries)) {
		add(alert, "!"+name(kind)+times(s.Recoveries[kind]))
	}
	if s.Broken != "" {
		add(alert, "no whole record: "+name(s.Broken))
	}
	return strings.Join(columns, "  ")
}

// column returns a name, padded to the width of the widest one so far.
func (p *Printer) column(width *int, text string) string {
	text = name(text)
	w := uniseg.StringWidth(text)
	*width = max(*width, w)
	return text + strings.Repeat(" ", *width-w)
}

// name returns a name in a form that is safe to print, and not too long for a line.
func name(text string) string {
	var e explain.Escaper
	safe := e.Escape(text[:min(len(text), 8*maxName)])
	head, rest, _ := cutAt(safe, maxName)
	if rest != "" {
		head += "…"
	}
	return head
}

func statusText(status int) string {
	if status == 0 {
		return "---" // the client has left before it got anything
	}
	return strconv.Itoa(status)
}

func statusColour(status int) explain.Colour {
	const firstGood, firstError = 200, 400
	if status >= firstGood && status < firstError {
		return answer
	}
	return alert
}

func finishColour(s *record.Summary) explain.Colour {
	switch s.Finish {
	case "error", "cut":
		return alert
	case "length":
		return commentary
	}
	return plain
}

func times(n uint64) string {
	if n == 1 {
		return ""
	}
	return " ×" + strconv.FormatUint(n, 10)
}

// milliseconds returns a time for people.
func milliseconds(ms int64) string {
	const second = 1000
	if ms < second {
		return strconv.FormatInt(ms, 10) + " ms"
	}
	return fmt.Sprintf("%.2f s", float64(ms)/second)
}

// grouped returns a number with a comma before every three digits.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
