package sim

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/mattn/go-runewidth"

	"gridbroker/testdata/testbed"
)

// The picture of the first jobs has room for the sites with most of them alone, their names are as long
// as there is room for, and of one policy nothing is compared.
func TestReportOfManySites(t *testing.T) {
	testbed.Computes(t)
	s, err := Parse("s.toml", []byte(strings.Replace(small, `"a"`, `"`+strings.Repeat("計", 40)+`"`, 1)+"copies = 40\n"))
	if err != nil {
		t.Fatal(err)
	}
	s.Seeds, s.Jobs.Count = 1, 90
	var page strings.Builder
	if err := compare(t, s).WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if n, all := strings.Count(page.String(), `height="58"`), len(s.Policies)*maxLanes; n != all {
		t.Errorf("%d lanes, want %d", n, all)
	}
	for want, there := range map[string]bool{
		">計計…": true, "the 12 of 40 sites": true, "<summary>40 sites": true, "grey: random": true,
	} {
		if strings.Contains(page.String(), want) != there {
			t.Errorf("%s is there: %v", want, !there)
		}
	}
	page.Reset()
	s.Policies = []string{"random"}
	if err := compare(t, s).WriteHTML(&page); err != nil || strings.Contains(page.String(), "grey:") || strings.Contains(page.String(), `<td class="better"`) {
		t.Errorf("one policy is compared with itself: %v", err)
	}
}

// TestNamesInPictures: names have the room that there is, those of copies stay apart, and lines of one colour do.
func TestNamesInPictures(t *testing.T) {
	seen := map[string]bool{}
	for k := range 99 {
		name := middle(fmt.Sprint(strings.Repeat("計算", 9), "-", k+1), laneWidth)
		if seen[name] || runewidth.StringWidth(name) > laneWidth {
			t.Errorf("%q is there twice, or %d wide", name, runewidth.StringWidth(name))
		}
		seen[name] = true
	}
	styles := map[string]bool{}
	for k := range 3 * len(colours) {
		style := colours[k%len(colours)] + dashes(k)
		if styles[style] {
			t.Errorf("the line of policy %d is another's", k)
		}
		styles[style] = true
	}
	if got := middle("hybrid", legendWidth); got != "hybrid" {
		t.Errorf("a name for which there is room is %q", got)
	}
}

// TestDarkColours: in a dark window the lines of ten policies have ten colours, and their dots have them too.
func TestDarkColours(t *testing.T) {
	for _, of := range []string{"stroke", "fill"} {
		dark := map[string]string{}
		for _, m := range regexp.MustCompile(`\[`+of+`="(#[0-9A-Fa-f]+)"\]\{`+of+`:(#[0-9a-f]+)\}`).FindAllStringSubmatch(varyPage, -1) {
			dark[m[1]] = m[2]
		}
		seen := map[string]string{}
		for _, c := range colours {
			shown := strings.ToLower(cmp.Or(dark[c], c))
			if seen[shown] != "" || shown == "#000000" {
				t.Errorf("%s: %s and %s are both %s in the dark", of, c, seen[shown], shown)
			}
			seen[shown] = c
		}
	}
}

// TestOneTimeForAll: the pictures of the first jobs have the same time at the same place under all policies, those that
// start late and those that end early, and the same marks below them; a policy with nothing to show has none.
func TestOneTimeForAll(t *testing.T) {
	bar := func(submit, start, end int64) *Run {
		return &Run{Gantt: []Bar{{Submit: submit, Start: start, End: end}}}
	}
	other := bar(0, 0, 9000) // of the second seed, which is not drawn
	r := &Result{
		Scenario: &Scenario{Seeds: 2, Sites: []Site{{Name: "a"}}}, Policies: []Compared{{Policy: "long"}, {Policy: "none"}, {Policy: "short"}, {Policy: "late"}},
		Runs: []*Run{bar(100, 200, 1300), other, {}, other, bar(100, 200, 400), other, bar(700, 800, 1000), other},
	}
	const second = 620.0 / 1200
	var got, want []string
	views := r.gantts()
	for _, v := range views {
		got = append(got, fmt.Sprintf("%s %.2f %.2f %.2f", v.Policy, v.Bars[0].X, v.Bars[0].Width, v.Bars[0].Wait))
		if !slices.Equal(v.Hours, views[0].Hours) || len(v.Hours) < 2 {
			t.Errorf("%s: marks %v, want %v", v.Policy, v.Hours, views[0].Hours)
		}
	}
	for _, b := range []struct {
		policy       string
		start, width float64
	}{{"long", 100, 1100}, {"short", 100, 200}, {"late", 700, 200}} {
		want = append(want, fmt.Sprintf("%s %.2f %.2f %.2f", b.policy, b.start*second, b.width*second, 100*second))
	}
	if !slices.Equal(got, want) {
		t.Errorf("bars begin at, and are as wide, and waited\n%v, want\n%v", got, want)
	}
}

// TestMarksOfTime: at most twelve marks, in minutes up to six hours.
func TestMarksOfTime(t *testing.T) {
	for span, want := range map[int64]string{0: "0 min", 719: "11 min", 3600: "60 min", 6 * 3600: "360 min", 7 * 3600: "7 h", 48 * 3600: "48 h"} {
		ticks := hours(span, 1)
		if last := ticks[len(ticks)-1].Text; last != want || len(ticks) > 13 {
			t.Errorf("%d s: %d marks, the last is %s, want %s", span, len(ticks), last, want)
		}
	}
}

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

// The names beside a picture of policies do not lie on each other and stay within it, and its scale has marks
// however close the waits are.
func TestNamesBesideCurves(t *testing.T) {
	for _, ends := range [][]float64{{100, 101, 102, 300}, {10, 10, 10, 10}, {315, 314, 315, 20}} {
		var curves []curveView
		for _, y := range ends {
			curves = append(curves, curveView{Dots: []dotView{{Y: 1}, {Y: y}}})
		}
		nameBeside(curves)
		for i, a := range curves {
			if a.At < 0 || a.At > varyFoot {
				t.Errorf("%v: name %d at %g", ends, i, a.At)
			}
			for k, b := range curves[:i] {
				if math.Abs(a.At-b.At) < nameHeight || (ends[k] < ends[i]) != (b.At < a.At) && ends[k] != ends[i] {
					t.Errorf("%v: names %d and %d at %g and %g", ends, k, i, b.At, a.At)
				}
			}
		}
	}
	for _, waits := range [][2]float64{{1, 1e6}, {80, 310}, {4000, 20000}, {90000, 400000}} {
		if marks := marksWithin(waits[0], waits[1]); len(marks) < 2 {
			t.Errorf("waits of %v s: %v", waits, marks)
		}
	}
}

// TestLinesBeneathAreSeen: of distributions that are the same each shows what lies beneath it: it is thinner, and has gaps.
func TestLinesBeneathAreSeen(t *testing.T) {
	s, err := Parse("s.toml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	s.Policies = []string{"random", "hybrid", "oracle", "fastest-queue"}
	var picture bytes.Buffer
	if err := compare(t, s).WriteSVG(&picture); err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`<polyline fill="none" stroke="[^"]*"( stroke-dasharray="[0-9 ]+")? stroke-width="([0-9.]+)"`).FindAllStringSubmatch(picture.String(), -1)
	if len(lines) != len(s.Policies) {
		t.Fatalf("%d lines in\n%s", len(lines), picture.String())
	}
	wider := math.Inf(1)
	for k, m := range lines {
		width, err := strconv.ParseFloat(m[2], 64)
		if err != nil || width >= wider || (k > 0) == (m[1] == "") {
			t.Errorf("line %d is %s wide and%s", k, m[2], m[1])
		}
		wider = width
	}
	styles := map[string]bool{}
	for k := range 3 * len(colours) {
		styles[colours[k%len(colours)]+gaps(k)] = true
	}
	if len(styles) != 3*len(colours) {
		t.Errorf("30 lines have %d looks", len(styles))
	}
}
