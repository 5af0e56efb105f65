package readahead

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// read returns a portion: from its cell, from a fetch under way, or by a fetch
// of its own; and asks for the next ones.
func (c *Cache) read(ctx context.Context, r *Reader, index int64) ([]byte, error) {
	began := c.options.Now()
	for {
		c.mu.Lock()
		if c.life.Err() != nil {
			c.mu.Unlock()
			return nil, ErrClosed
		}
		p := Portion{File: r.number, Index: index}
		slot := c.table.Find(p)
		if slot == None {
			return c.demand(ctx, r, p)
		}
		c.table.Use(slot)
		f := c.flights[slot]
		if f == nil {
			data, ok := c.spill.data[slot]
			if !ok {
				data, ok = c.store.get(slot, r.name, index)
			}
			if ok {
				c.stats.Hits++
				c.took(slot, 0)
				c.lookAhead(r, index)
				c.mu.Unlock()
				return data, nil
			}
			c.stats.Damaged++
			c.forget(slot)
			c.mu.Unlock()
			continue
		}
		c.lookAhead(r, index)
		data, err := c.wait(ctx, f, slot)
		if err == nil {
			c.mu.Lock()
			c.stats.Late++
			if c.table.Find(p) == slot {
				c.took(slot, c.options.Now().Sub(began).Seconds())
			}
			c.mu.Unlock()
			return data, nil
		}
		if ctx.Err() != nil || !errors.Is(err, errAhead) {
			return nil, err
		}
	}
}

// errAhead marks the error of a fetch that nobody waited for when it began: a
// reader that joined later tries for itself.
var errAhead = errors.New("fetched ahead")

// wait waits for a fetch under way, which becomes one on demand. The mutex is
// held before and not afterwards. The cell stays while somebody waits.
func (c *Cache) wait(ctx context.Context, f *flight, slot Slot) (data []byte, err error) {
	f.demanded = true
	c.table.Pin(slot)
	c.mu.Unlock()
	c.gate.poke()
	select {
	case <-f.done:
		data, err = f.data, f.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.life.Done():
		err = ErrClosed
	}
	c.mu.Lock()
	c.table.Unpin(slot)
	c.mu.Unlock()
	return data, err
}

// took counts a read of a held portion for the measured benefit.
func (c *Cache) took(slot Slot, seconds float64) {
	fresh := c.table.TakeAhead(slot)
	if fresh {
		c.stats.Used++
	}
	c.benefit.Read(seconds, fresh)
}

// demand fetches a portion for a reader, who waits. The mutex is held before and not afterwards.
func (c *Cache) demand(ctx context.Context, r *Reader, p Portion) ([]byte, error) {
	began := c.options.Now()
	f := &flight{done: make(chan struct{}), demanded: true}
	slot, held := c.cell(p, f)
	c.stats.Misses++
	c.ahead.Add(1)
	go c.fetch(r, p, slot, held, f)
	c.lookAhead(r, p.Index)
	if !held {
		c.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.life.Done():
			return nil, ErrClosed
		}
		return f.data, f.err
	}
	data, err := c.wait(ctx, f, slot)
	took := c.options.Now().Sub(began).Seconds()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.benefit.Fetched(took)
	}
	c.benefit.Read(took, true)
	return data, err
}

// cell takes a cell for a portion on its way; held is false where every cell has a reader that waits.
func (c *Cache) cell(p Portion, f *flight) (slot Slot, held bool) {
	slot, _, had, held := c.table.Insert(p)
	if !held {
		return None, false
	}
	if had {
		delete(c.flights, slot)
		c.spill.drop(slot)
		if err := c.store.drop(slot); err != nil {
			c.stats.Unwritten++
		}
	}
	c.flights[slot] = f
	return slot, true
}

// lookAhead starts fetches of the next portions that are neither held nor on their way.
func (c *Cache) lookAhead(r *Reader, index int64) {
	if !c.benefit.On() || c.life.Err() != nil {
		return
	}
	last := min((r.file.Size-1)/c.options.Portion, index+int64(c.options.Ahead)) // a size may be next to all bounds
	for next := index + 1; next <= last; next++ {
		p := Portion{File: r.number, Index: next}
		if c.table.Find(p) != None {
			continue
		}
		f := &flight{done: make(chan struct{})}
		slot, held := c.cell(p, f)
		if !held {
			return
		}
		c.table.MarkAhead(slot)
		c.stats.Ahead++
		c.ahead.Add(1)
		go c.fetch(r, p, slot, held, f)
	}
}

// fetch brings a portion and keeps it, if its cell is still its own.
func (c *Cache) fetch(r *Reader, p Portion, slot Slot, held bool, f *flight) {
	defer c.ahead.Done()
	demanded := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return f.demanded || c.life.Err() != nil
	}
	ahead := !demanded()
	c.gate.enter(demanded)
	var data []byte
	err := c.unwanted(slot, f)
	if err == nil {
		data = make([]byte, r.length(p.Index))
		err = readFull(r.file.From, data, p.Index*c.options.Portion)
	}
	c.gate.leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(f.done)
	f.data, f.err = data, err
	if err != nil {
		f.data, f.err = nil, fmt.Errorf("%s: %w", r.file.Name, err)
		if ahead {
			f.err = errors.Join(f.err, errAhead)
		}
	} else {
		c.stats.Fetched += int64(len(data))
	}
	if held && c.flights[slot] == f {
		c.keep(r, p, slot, f)
	}
}

// errEvicted says that a portion fetched ahead has no cell any more, and no reader.
var errEvicted = errors.New("evicted before it was fetched")

// unwanted says why a fetch whose turn has come need not begin.
func (c *Cache) unwanted(slot Slot, f *flight) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !f.demanded && c.flights[slot] != f {
		return errEvicted
	}
	if c.life.Err() != nil {
		return ErrClosed
	}
	return nil
}

// readFull fills data; an end of file where the file should go on is an error.
func readFull(from io.ReaderAt, data []byte, off int64) error {
	n, err := from.ReadAt(data, off)
	if n == len(data) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// keep writes what came into its cell, or frees the cell. What the disk does not take stays in memory for a while.
func (c *Cache) keep(r *Reader, p Portion, slot Slot, f *flight) {
	delete(c.flights, slot)
	if f.err != nil {
		c.table.Drop(slot)
		return
	}
	if err := c.store.put(slot, r.name, p.Index, f.data); err != nil {
		c.stats.Unwritten++
		if gone := c.spill.put(slot, f.data, c.options.Portion); gone != None {
			c.table.Drop(gone)
		}
	}
	c.table.Settle(slot)
}

// forget frees a cell whose data is damaged.
func (c *Cache) forget(slot Slot) {
	c.table.Drop(slot)
	if err := c.store.drop(slot); err != nil {
		c.stats.Unwritten++
	}
}
