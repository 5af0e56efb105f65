package tree

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// The way of a job is one of links that are there, from where it was handed in
// to where the run itself says that it started; to look changes nothing.
func TestWatch(t *testing.T) {
	w, c := workB(16, 200), Ours(paper(4))
	jobs, err := w.Draw(1)
	if err != nil {
		t.Fatal(err)
	}
	r := runB(t, c, w, 1)
	v, err := Watch(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	at, sent := v.Job.Home, 0
	for i, st := range v.Way {
		if st.Manager != at || i > 0 && st.At < v.Way[i-1].At {
			t.Fatalf("step %d: %+v, and the job was at %d", i, st, at)
		}
		if st.To < 0 {
			continue
		}
		if v.Managers[st.To].Parent != at && v.Managers[at].Parent != st.To {
			t.Fatalf("step %d: %+v: no link", i, st)
		}
		at = st.To
		sent++
	}
	if sent != r.MaxHops {
		t.Errorf("the job that went farthest was sent %d times, the run says %d", sent, r.MaxHops)
	}
	if last := v.Way[len(v.Way)-1]; last.What == "starts" && r.Starts[v.Job.ID-1].System != last.Manager {
		t.Errorf("%+v, but the run says %+v", last, r.Starts[v.Job.ID-1])
	}
	if own, err := Watch(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 1, 7); err != nil || own.Job.ID != 7 || own.At != jobs[6].Submit {
		t.Errorf("job 7: %+v, %v", own, err)
	}
	if _, err := Watch(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 1, 100_000); err == nil {
		t.Error("a job that is not there was watched")
	}
	c.Mode = "full"
	if _, err := Watch(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 1, 0); err == nil {
		t.Error("there is no tree where all is known")
	}
}

// The page draws every manager and every step; its picture is well-formed and nothing of it lies outside.
func TestWatchPage(t *testing.T) {
	w, c := workB(16, 200), Ours(paper(4))
	jobs, _ := w.Draw(1)
	v, err := Watch(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := v.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if n := strings.Count(text, "<circle"); n != 5 {
		t.Errorf("%d domains drawn, want 5", n)
	}
	if n := strings.Count(text, "<tr"); n != 2+len(v.Way)+len(v.Managers) {
		t.Errorf("%d lines of tables, want %d steps and %d managers", n, len(v.Way), len(v.Managers))
	}
	drawn := v.drawing()
	width, height := drawn.Width, drawn.Height
	for _, s := range drawn.Spots {
		if s.X < 15 || s.Y < 25 || s.X > width-15 || s.Y > height-25 {
			t.Errorf("%s at %g, %g of %g, %g", s.Name, s.X, s.Y, width, height)
		}
	}
	dec := xml.NewDecoder(strings.NewReader(text[strings.Index(text, "<svg") : strings.Index(text, "</svg>")+6]))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLargeTreeIsFolded: of a tree of 64 systems those are drawn that are beside the job's way, at places of
// their own, and none is forgotten.
func TestLargeTreeIsFolded(t *testing.T) {
	v := &View{Managers: []ManagerView{{Name: "top", Parent: -1}}, Way: []Step{{Manager: 2, To: 1}, {Manager: 1, To: -1}}}
	for range 8 {
		domain := len(v.Managers)
		v.Managers = append(v.Managers, ManagerView{Name: "d", Parent: 0})
		for range 8 {
			v.Managers = append(v.Managers, ManagerView{Name: "s", Parent: domain, System: true})
		}
	}
	tree := v.drawing()
	width := tree.Width
	at, drawn, folded := map[[2]float64]bool{}, 0, 0
	for _, s := range tree.Spots {
		if !s.Drawn {
			continue
		}
		if drawn++; s.Below == "(8)" {
			folded++
		}
		if at[[2]float64{s.X, s.Y}] || s.X > width {
			t.Errorf("%s at %g, %g of %g lies on another", s.Name, s.X, s.Y, width)
		}
		at[[2]float64{s.X, s.Y}] = true
	}
	if drawn != 1+8+8 || folded != 7 {
		t.Errorf("%d managers are drawn, %d domains folded; want 17 and 7", drawn, folded)
	}
	v.Managers = v.Managers[:1+3*9]
	for _, s := range v.drawing().Spots {
		if !s.Drawn || s.Below != "" {
			t.Errorf("%+v: of a tree of 24 systems all are drawn", s)
		}
	}
}
