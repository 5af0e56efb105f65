package glue

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Purse is the memory that many sources may cost together, where others chose
// how many there are, and what they may say in all: to read it takes time, whether
// or not any of it is kept.
type Purse struct {
	left, words atomic.Int64
	of          *Purse
}

// How many bytes may be said for each that may be kept: by one source, and by all.
const (
	ownWords = 2
	allWords = 4
)

// NewPurse makes a purse of so many bytes of memory.
func NewPurse(bytes int64) *Purse {
	p := &Purse{}
	p.left.Store(bytes)
	p.words.Store(allWords * bytes)
	return p
}

// Part is a purse of so many bytes of this one's.
func (p *Purse) Part(bytes int64) *Purse {
	part := NewPurse(bytes)
	part.of = p
	return part
}

// take takes from a purse and what it is a part of, or nothing.
func (p *Purse) take(n int64) bool {
	if p == nil {
		return true
	}
	if p.left.Add(-n) < 0 || !p.of.take(n) {
		p.left.Add(n)
		return false
	}
	return true
}

// hear takes what was said, which nobody gives back; false once it is too much.
func (p *Purse) hear(n int64) bool {
	well := true
	for ; p != nil; p = p.of {
		well = p.words.Add(-n) >= 0 && well
	}
	return well
}

func (p *Purse) give(n int64) {
	for ; p != nil; p = p.of {
		p.left.Add(n)
	}
}

// Account is what one of the sources may cost of a purse. Without one, nil,
// everything is well.
type Account struct {
	purse        *Purse
	most         int64
	mu           sync.Mutex
	passing, own int64 // taken for a while, and for what stays
	heard        int64
}

// Account opens an account for so many bytes at most.
func (p *Purse) Account(most int64) *Account { return &Account{purse: p, most: most} }

// ErrPurse is that a source says more than is due to it, or together with others.
var ErrPurse = errors.New("it says more than one of so many sources may, or all of them say too much together")

// Take pays for memory that is needed for a while.
func (a *Account) Take(bytes int64) error { return a.take(bytes, 0) }

// keep pays for memory of what stays.
func (a *Account) keep(bytes int64) error { return a.take(0, bytes) }

func (a *Account) take(passing, own int64) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := passing + own
	if a.passing+a.own+n > a.most {
		return ErrPurse
	}
	if !a.purse.take(n) {
		return ErrPurse
	}
	a.passing, a.own = a.passing+passing, a.own+own
	return nil
}

// Hear pays for bytes that the source said, of which nothing need be kept.
func (a *Account) Hear(bytes int64) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.heard += bytes; !a.purse.hear(bytes) || a.heard > ownWords*a.most {
		return ErrPurse
	}
	return nil
}

// Settle ends the account: what was needed for a while is given back, and all
// of it where nothing stays.
func (a *Account) Settle(stays bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	back := a.passing
	if !stays {
		back += a.own
	}
	a.purse.give(back)
	a.passing, a.own = 0, 0
}
