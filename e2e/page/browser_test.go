//go:build e2e

package page

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// patience is how long the browser may take for anything, on a busy machine.
const patience = time.Minute

// browser is Chromium, started once for all tests.
var browser struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop func()
}

// atOnce is how many tests run at once, also on a machine with two cores: they wait more than they compute.
const atOnce = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err) // cannot happen: package testing has the flag
	}
	code := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(code)
}

func startBrowser(t *testing.T) context.Context {
	t.Helper()
	program := lab.Tool(t, "HARMONY_CHROMIUM")
	browser.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
			// Tests run as root in containers, where Chromium has no sandbox. It sees nothing but this machine.
			chromedp.NoSandbox,
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
			chromedp.Flag("headless", "new"), chromedp.Flag("lang", "en-GB"),
			chromedp.Env("TZ=UTC"),
			chromedp.WSURLReadTimeout(patience))
		allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		// Messages of a browser newer than chromedp are not understood wholly, which does no harm.
		ctx, stopBrowser := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
		browser.stop = func() {
			stopBrowser()
			stopAllocator()
		}
		browser.ctx, browser.err = ctx, chromedp.Do(ctx)
	})
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	return browser.ctx
}

// tab is a tab of the browser, with storage of its own.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu     sync.Mutex
	asked  []string // the addresses that were asked
	errors []string // errors in the console
	allow  []string // parts of errors that a test expects
}

// open opens an address in a new tab. When the test ends, the tab must have asked nothing but the address's origin, and
// its console must have no error.
func open(t *testing.T, origin, path string) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(startBrowser(t), chromedp.WithNewBrowserContext())
	ctx, end := context.WithTimeout(ctx, 3*patience)
	b := &tab{t: t, ctx: ctx, origin: origin}
	t.Cleanup(func() {
		b.check()
		end()
		stop()
	})
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	b.run(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(origin+path))
	return b
}

// hear notes what the tab asks, and its errors.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, fmt.Sprint(e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception.Description))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.errors = append(b.errors, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

func (b *tab) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.asked {
		if !strings.HasPrefix(url, b.origin+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:") {
			b.t.Errorf("the page asked %s, which is not its own origin", url)
		}
	}
next:
	for _, text := range b.errors {
		for _, part := range b.allow {
			if strings.Contains(text, part) {
				continue next
			}
		}
		b.t.Errorf("the console has an error: %s", text)
	}
}

// call sends a command of the browser's protocol to a tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// run does something in the tab.
func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// do runs a script, and waits for its promise if it returns one.
func (b *tab) do(script string) {
	b.t.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](script, chromedp.EvalAwaitPromise))
}

// eval returns the value of an expression in JavaScript.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// until waits until an expression in JavaScript is true.
func (b *tab) until(script string) {
	b.t.Helper()
	poll := chromedp.Poll[chromedp.Void](script, chromedp.WithPollingTimeout(patience))
	if _, err := chromedp.Run(b.ctx, poll); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector("main").innerText`))
		b.t.Fatalf("%s is not true: %v\nthe page says:\n%s", script, err, text)
	}
}

// see waits until the page shows a text, in whatever case its style has it. The text of a lane counts also where it is
// scrolled out of sight, since a browser does not lay it out there.
func (b *tab) see(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[document.body.innerText,
		...[...document.querySelectorAll(".view:not([hidden]) .lane .text")].map((e) => e.textContent),
	].some((text) => text.replaceAll("\u00a0", " ").toLowerCase().includes(%s))`, lab.Quote(strings.ToLower(text))))
}

// look sets the size of the window and the colour scheme of the system.
func (b *tab) look(width, height int64, scheme string) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
}
