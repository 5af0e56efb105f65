package scheduler

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium with one page.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser starts one; where there is none the test skips.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no Chromium on this machine: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t, ctx}
	b.do(chromedp.Navigate("about:blank"))
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval runs a script.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%.80s: %v", script, err)
	}
	return v
}

// until waits for a script to be true. A page that is just left takes the script along: it is run anew in the next one.
func (b *browser) until(script string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(time.Until(end)), chromedp.WithPollingInterval(50*time.Millisecond)))
		if err == nil {
			return
		}
		left := slices.ContainsFunc([]string{"Cannot find context", "context was destroyed", "target navigated"}, func(s string) bool { return strings.Contains(err.Error(), s) })
		if !left || time.Now().After(end) {
			b.t.Fatalf("%s never came: %v; %s", script, err, eval[string](b, `JSON.stringify([location.href, document.activeElement?.outerHTML.slice(0, 80),
				document.querySelector("#state")?.textContent, document.querySelector("#main")?.textContent.length])`))
		}
	}
}

// size sets the size of the window and the colours asked for.
func (b *browser) size(width, height int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// shoot keeps a picture in the directory that GRID_SCREENSHOTS names.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("GRID_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	whole, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	for end, body := range map[string][]byte{".png": png, "-whole.png": whole} {
		if err := os.WriteFile(filepath.Join(dir, name+end), body, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// draws tells how much of a processor it takes to load and draw a page. (Of a
// busy machine's clock that says more than the time on the wall.)
func (b *browser) draws(url string) time.Duration {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.Navigate(url))
	eval[float64](b, "document.body.getBoundingClientRect().height")
	b.until("window.drawn || (requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true; })), false)")
	got, err := chromedp.Call(b.ctx, performance.GetMetrics, struct{}{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	b.t.Fatal(fmt.Sprint("no TaskDuration among ", got.Metrics))
	return 0
}
