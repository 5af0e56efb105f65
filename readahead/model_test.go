package readahead

import (
	"math"
	"testing"
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
