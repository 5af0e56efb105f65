package readahead

import (
	"math"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

func TestModelInvariants(t *testing.T) {
	for _, cells := range []int{1, 2, 5, 64} {
		for _, next := range []float64{0, 0.3, 0.9, 1} {
			p := DefaultParams()
			p.Branches, p.NodeCells, p.SystemCells, p.Next, p.Blocks = 3, cells, cells, next, 50
			r, err := Model(p, 7)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.NodeHit + r.NodeLate + r.NodeMiss; got != int64(p.Ops*p.Branches) {
				t.Errorf("cells %d p %g: %d block reads counted, want %d", cells, next, got, p.Ops*p.Branches)
			}
			if r.WideRequests < r.SystemMiss {
				t.Errorf("cells %d p %g: %d wide requests for %d misses", cells, next, r.WideRequests, r.SystemMiss)
			}
			again, _ := Model(p, 7)
			if again != r {
				t.Errorf("the same seed gave %+v, then %+v", r, again)
			}
		}
	}
}

// One file read from end to end: the closed form of one portion in flight ahead.
func TestModelClosedForm(t *testing.T) {
	for _, think := range []float64{0, 55, 110, 440} {
		p := DefaultParams()
		p.Remote, p.Next, p.SystemAhead, p.Think, p.Ops = 1, 1, 0, think, 5000
		with, _ := Model(p, 1)
		p.Cache = false
		without, _ := Model(p, 1)
		want := max(think/(110+think), 0.5)
		if got := with.Time / without.Time; math.Abs(got-want) > 0.01 {
			t.Errorf("think %g: ratio %.4f, want %.4f", think, got, want)
		}
	}
}

// Look-ahead that fills the link, or that nobody reads, stops by itself; where it pays it stays.
func TestLookAheadTurnsOff(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(*Params)
		worse float64 // ratio that must be undercut with the rule
	}{
		{"half unwanted on a full link", func(p *Params) { p.Link = Blocking; p.SystemAhead = 0 }, 1.10},
		{"random reads on a full link", func(p *Params) { p.Link = Blocking; p.Next = 0 }, 1.10},
		{"sixteen branches on one link", func(p *Params) { p.Link = Blocking; p.Branches = 16; p.SystemAhead = 0 }, 1.15},
		{"pure delays", func(*Params) {}, 0.54},
		{"computing between reads", func(p *Params) { p.Link = Blocking; p.Think = 110; p.SystemAhead = 0 }, 0.78},
	} {
		p := DefaultParams()
		c.set(&p)
		p.TurnOff, p.Ops = true, 3000
		with, err := Model(p, 3)
		if err != nil {
			t.Fatal(err)
		}
		p.Cache = false
		without, _ := Model(p, 3)
		if got := with.Time / without.Time; got > c.worse {
			t.Errorf("%s: ratio %.3f, want at most %.3f", c.name, got, c.worse)
		}
	}
}

func TestParamsCheck(t *testing.T) {
	for name, spoil := range map[string]func(*Params){
		"no files": func(p *Params) { p.Remote = 0 }, "p": func(p *Params) { p.Next = 1.5 },
		"nan": func(p *Params) { p.Wide = math.NaN() }, "link": func(p *Params) { p.Link = "fast" },
		"when": func(p *Params) { p.When = "" }, "cells": func(p *Params) { p.NodeCells = 0 },
	} {
		p := DefaultParams()
		spoil(&p)
		if _, err := Model(p, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A run that would not end, or not fit into memory, is refused by name before it begins;
// caches far larger than what is read cost nothing.
func TestRunsWithoutEnd(t *testing.T) {
	for want, change := range map[string]func(*Params){
		"ops x branches x q":      func(p *Params) { p.Ahead, p.SystemAhead = 10_000, 10_000 },
		"3e+13 look-ups":          func(p *Params) { p.Branches, p.PerRead, p.Blocks = 100_000, 1e6, 1e6; p.Ahead = 0 },
		"files: want 5e+07":       func(p *Params) { p.Branches, p.Remote, p.Ops = 100_000, 100_000, 1 },
		"cells in use: want 5e+0": func(p *Params) { p.Branches, p.NodeCells, p.Ops = 1000, 1e8, 100_000 },
	} {
		p := DefaultParams()
		change(&p)
		testbed.Within(t, 10*time.Second, 64<<20, func() {
			if _, err := Model(p, 1); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	p, small := DefaultParams(), DefaultParams()
	p.NodeCells, p.SystemCells, p.Branches, small.NodeCells, small.SystemCells, small.Branches = 1e8, 1e8, 50, 1000, 1e5, 50
	testbed.Within(t, 10*time.Second, 256<<20, func() {
		a, errA := Model(p, 1)
		b, errB := Model(small, 1)
		if errA != nil || errB != nil || a != b {
			t.Errorf("%+v %v; with smaller caches %+v %v", a, errA, b, errB)
		}
	})
}

// Whatever the program and its system are like: every block is read once, nothing is read
// ahead that was not asked for, no more than the depth allows, and where transfers do not
// hinder each other nobody waits for longer than without.
func FuzzModel(f *testing.F) {
	f.Add(uint64(1), uint64(0x123456789abcdef), 0.5, 1.0)
	f.Add(uint64(7), uint64(0xffffffffffffffff), 1.0, 0.0)
	f.Fuzz(func(t *testing.T, seed, bits uint64, next, think float64) {
		draw := func(n int64) int64 { v := int64(bits % uint64(n)); bits = bits/uint64(n) ^ bits<<7; return v }
		p := DefaultParams()
		p.Next, p.Think = next, think
		p.Ops, p.Branches, p.Remote, p.Local = int(1+draw(80)), int(1+draw(4)), int(1+draw(6)), int(draw(3))
		p.PerRead, p.Portion, p.Ahead, p.SystemAhead = 1+draw(5), 1+draw(4), draw(5), draw(5)
		p.Blocks = p.PerRead + draw(300)
		p.NodeCells, p.SystemCells = int(1+draw(40)), int(1+draw(80))
		p.TurnOff = draw(2) == 1
		p.Link = []Link{Delay, Serial, Blocking}[draw(3)]
		r, err := Model(p, seed)
		if p.Check() != nil {
			if err == nil {
				t.Fatal("taken")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		reads := int64(p.Ops) * int64(p.Branches) * p.PerRead
		if got := r.NodeHit + r.NodeLate + r.NodeMiss; got != reads || math.IsNaN(r.Time) || r.Time < 0 {
			t.Errorf("%+v: %d of %d reads, %+v", p, got, reads, r)
		}
		if most := reads*p.Ahead + (reads+reads*p.Ahead)*p.SystemAhead; r.Prefetched > most {
			t.Errorf("%+v: %d read ahead, %d at most", p, r.Prefetched, most)
		}
		plain := p
		plain.Cache = false
		without, err := Model(plain, seed)
		if err != nil {
			t.Fatal(err)
		}
		// a portion of one block over a link without contention is never dearer than the block itself
		if p.Link == Delay && p.Portion == 1 && p.Local == 0 && r.Time > without.Time*(1+1e-9) {
			t.Errorf("%+v: %g with the cache, %g without", p, r.Time, without.Time)
		}
	})
}
