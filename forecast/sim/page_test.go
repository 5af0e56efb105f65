package sim

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"gridbroker/testdata/testbed"
)

// Reports fit the window: pictures shrink in a narrow one, as far as their texts can be read,
// tables and pictures that are wider scroll, and the figures of many policies need no scrolling on a slide.
func TestReportFits(t *testing.T) {
	testbed.Computes(t)
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no Chromium on this machine: ", err)
	}
	s := scenario(t, "failures.toml")
	s.Seeds, s.Jobs.Count = 2, 60
	result := compare(t, s)
	s.Policies = []string{"random", "hybrid"}
	plain := func(*Scenario, string) (Options, error) { return Options{Parallel: 2}, nil }
	v, err := s.Vary(t.Context(), "load", []string{"0.1", "0.5"}, plain)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	for name, write := range map[string]func(io.Writer) error{"compared": result.WriteHTML, "varied": v.WriteHTML} {
		file := filepath.Join(t.TempDir(), name+".html")
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(out); err != nil {
			t.Fatal(err)
		}
		out.Close()
		for _, width := range []int64{400, 600, 1280} {
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 800), chromedp.Navigate("file://"+file)); err != nil {
				t.Fatal(err)
			}
			wide, err := chromedp.Run(ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
			if err != nil || wide > width {
				t.Errorf("%s: %d wide in a window of %d: %v", name, wide, width, err)
			}
			high, err := chromedp.Run(ctx, chromedp.Evaluate[float64]("Math.min(...[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height))"))
			if err != nil || high < 8 {
				t.Errorf("%s: a text of %.1f pixels in a window of %d: %v", name, high, width, err)
			}
		}
		over, err := chromedp.Run(ctx, chromedp.Evaluate[int64]("Math.max(...[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth))"))
		if err != nil || over > 0 {
			t.Errorf("%s: a table is %d wider than a slide: %v", name, over, err)
		}
	}
}
