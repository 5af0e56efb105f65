package scheduler

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"gridbroker/testdata/testbed"
)

// faint lists the texts whose contrast is below WCAG AA: 4.5, or 3 where they
// are large.
const faint = `(() => {
  const parse = s => { const m = s.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const under = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const bad = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, style = getComputedStyle(e);
    if (!walk.currentNode.nodeValue.trim() || !e.getClientRects().length) continue;
    const color = parse(e instanceof SVGElement ? style.fill : style.color), size = parseFloat(style.fontSize);
    const [a, b] = [light(color), light(under(e))].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < (size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5)) bad.add(e.tagName + "." + (e.getAttribute("class") || "") + " " + ratio.toFixed(2));
  }
  return [...bad];
})()`

// The page in a browser: it draws a large grid in less than a second of one
// processor, can be read in both colours and on a telephone, answers to keys,
// and follows what happens.
func TestPage(t *testing.T) {
	clusters, nodes := 20, 500
	if !testbed.Whole(t) {
		clusters, nodes = 3, 20
	}
	kinds, every := 1, 6*time.Hour
	if os.Getenv("GRID_SCREENSHOTS") != "" {
		kinds, every = 4, 60*time.Minute
	}
	d := newDay(t, clusters, nodes, kinds, every)
	b := newBrowser(t)
	for _, path := range []string{"/", "/?cluster=abisko"} {
		b.size(1400, 900, "light")
		if took := b.draws(d.server.URL + path); took > testbed.PacedBeside(t, time.Second) {
			t.Errorf("%s draws in %v", path, took)
		} else {
			t.Logf("%s: %d clusters of %d nodes, a day: %v of one processor", path, clusters, nodes, took)
		}
	}
	for _, v := range []struct {
		name, path, scheme string
		width, height      int64
	}{
		{"grid-light", "/", "light", 1400, 900}, {"grid-dark", "/", "dark", 1400, 900}, {"grid-narrow", "/", "light", 400, 850},
		{"cluster-light", "/?cluster=abisko", "light", 1400, 900}, {"cluster-narrow", "/?cluster=abisko", "dark", 400, 850},
		{"travel", "/?at=1800000000", "light", 1400, 900}, {"public", "/?public=1", "dark", 1400, 900},
	} {
		b.size(v.width, v.height, v.scheme)
		b.do(chromedp.Navigate(d.server.URL + v.path))
		if bad := eval[[]string](b, faint); len(bad) > 0 {
			t.Errorf("%s: faint: %v", v.name, bad)
		}
		if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > v.width {
			t.Errorf("%s: %d wide of %d", v.name, wide, v.width)
		}
		if cut := eval[[]string](b, `[...document.querySelectorAll(".wide")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.getAttribute("aria-label") + " " + e.scrollWidth)`); len(cut) > 0 {
			t.Errorf("%s: cut off: %v", v.name, cut)
		}
		if cut := eval[[]string](b, `[...document.querySelectorAll(".label")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)`); len(cut) > 0 {
			t.Errorf("%s: cut off without a sign: %v", v.name, cut)
		}
		b.shoot(v.name)
	}
	b.size(1400, 900, "light")
	pageKeys(b, d)
	pageLive(b, d)
}

// A thousand clusters are shown fifty at a time, in less than a second of one
// processor, and found by name.
func TestPageOfManyClusters(t *testing.T) {
	testbed.Computes(t)
	const clusters = 1000
	d := newDay(t, 20, 8, 3, 6*time.Hour)
	d.multiply(clusters / 20)
	for _, what := range []string{"first, with what forecasts were worth", "again"} {
		d.now = d.now.Add(2 * time.Second)
		began := time.Now()
		resp, err := http.Get(d.server.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		t.Logf("%s: %d kB in %v", what, len(text)/1000, time.Since(began))
	}
	b := newBrowser(t)
	b.size(1400, 900, "light")
	took := b.draws(d.server.URL + "/")
	if took > testbed.PacedBeside(t, time.Second) {
		t.Errorf("drawn in %v", took)
	}
	t.Logf("%d clusters: %v of one processor", clusters, took)
	if text := eval[string](b, `document.querySelector(".find span").textContent + " " + document.querySelectorAll(".band").length`); text != fmt.Sprintf("1 to 50 of %d 50", clusters) {
		t.Error(text)
	}
	if text := eval[string](b, `document.querySelector(".tiles dd").textContent`); text != fmt.Sprintf("%d of %d", clusters, clusters) {
		t.Error(text)
	}
	b.shoot("many-light")
	b.do(chromedp.Click(chromedp.CSS(".find a")))
	b.until(`location.search === "?page=1" && document.querySelector(".find span").textContent.startsWith("51 to ")`)
	b.do(chromedp.Focus(chromedp.CSS("#find")), chromedp.KeyEvent("Fjord"), chromedp.KeyEvent(kbEnter))
	b.until(`location.search === "?find=Fjord" && document.querySelectorAll(".band").length === ` + fmt.Sprint(clusters/20))
	b.size(400, 850, "dark")
	b.do(chromedp.Navigate(d.server.URL + "/?find=fjord"))
	if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > 400 {
		t.Errorf("%d wide of 400", wide)
	}
	b.shoot("many-narrow")
	b.do(chromedp.Navigate(d.server.URL + "/?find=nowhere"))
	b.until(`document.querySelector(".empty").textContent === "No cluster is called so."`)
}

func pageKeys(b *browser, d *day) {
	b.do(chromedp.Navigate(d.server.URL + "/"))
	b.do(chromedp.Focus(chromedp.CSS(".plot")), chromedp.KeyEvent(kbDown), chromedp.KeyEvent(kbDown))
	b.until(`document.querySelectorAll(".band")[1].classList.contains("on") && !document.querySelector("#tip").hidden`)
	for _, key := range []struct{ press, until string }{
		{"+", `location.search === "?span=43200" && document.querySelector(".spans [aria-current]").textContent === "12 h"`},
		{"-", `location.search === "" && document.querySelector(".spans [aria-current]").textContent === "24 h"`},
		{kbDown, `document.querySelectorAll(".band")[0].classList.contains("on")`},
		{kbEnter, `location.search === "?cluster=abisko" && document.querySelectorAll(".row").length > 0`},
		{kbDown, `document.querySelectorAll(".row")[0].classList.contains("on") && document.querySelector("#tip").textContent.startsWith("n1")`},
		{kbEscape, `location.search === "" && document.querySelectorAll(".band").length > 0`},
		{kbLeft, `location.search.startsWith("?from=") && document.querySelector("[data-key=ArrowRight]").href.endsWith("/?from=" + (+new URLSearchParams(location.search).get("from") + 43200))`},
		{kbPageDown, `location.search.includes("at=") && document.querySelector("#seen").textContent.startsWith("as of")`},
		{kbHome, `location.search === "" && document.activeElement.className === "plot"`},
	} {
		b.do(chromedp.KeyEvent(key.press))
		b.until(key.until)
	}
}

// The keys as chromedp names them.
const (
	kbDown     = "\u0301"
	kbLeft     = "\u0302"
	kbEnter    = "\r"
	kbEscape   = "\u001b"
	kbHome     = "\u0306"
	kbPageDown = "\u0307"
)

// What happens is seen without anybody's doing.
func pageLive(b *browser, d *day) {
	t := b.t
	go d.s.relay(b.ctx)
	b.do(chromedp.Navigate(d.server.URL + "/"))
	b.until(`document.querySelector("#state").textContent === "live"`)
	if eval[bool](b, `document.body.textContent.includes("fresh job")`) {
		t.Fatal("it is there already")
	}
	b.until(`new Promise(r => setTimeout(() => r(true), 700))`) // the watcher has begun to read the log
	got, err := d.s.Submit(t.Context(), Person{Subject: "the operator"}, []Submission{{Key: "fresh", Priority: 99,
		JDL: `[ Executable = "/bin/true"; JobName = "fresh job"; CPUNumber = 1000000; WallTime = 600; Requirements = true; ]`}})
	if err != nil || got[0].Error != "" {
		t.Fatal(err, got)
	}
	epoch, err := takeOver(t.Context(), d.store, "page")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.s.Cycle(t.Context(), epoch); err != nil {
		t.Fatal(err)
	}
	b.until(`document.querySelector(".queue").textContent.includes("fresh job")`)
}

// Strangers see loads and slots and nobody's name.
func TestPageForStrangers(t *testing.T) {
	d := newDay(t, 1, 6, 1, 6*time.Hour)
	for _, path := range []string{"/?public=1", "/?public=1&cluster=abisko"} {
		resp, err := http.Get(d.server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "abisko") {
			t.Fatal(resp.Status, err)
		}
		for _, secret := range []string{"alice", "muon", "tagging", "carol", "the operator"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s tells strangers of %s", path, secret)
			}
		}
	}
}
