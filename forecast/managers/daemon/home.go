package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gridbroker/forecast/managers"
)

// A manager whose parent was lost stands elsewhere in the tree. It goes home when its
// own parent is back in the same tree: not at once, and the later the more often it went in vain.
const (
	homeBeats = 15  // that pass before it goes
	homeLong  = 300 // at most
	homeStays = 10  // times as long as it waited it is to be at home, to wait no longer the next time
)

// anyTree is what a manager asks for that comes to whichever tree there is.
const anyTree = ""

// climber is a manager that may be elsewhere than at its own parent: how long it waits
// before it goes home.
type climber struct {
	*Daemon
	beats int
}

// wait is that time.
func (l *climber) wait() time.Duration {
	l.beats = max(l.beats, homeBeats)
	return time.Duration(l.beats) * l.config.Beat
}

// stayed says how long a manager was at home before it lost its parent again.
func (l *climber) stayed(d time.Duration) {
	if d < homeStays*l.wait() {
		l.beats = min(2*l.beats, homeLong)
	} else {
		l.beats = homeBeats
	}
}

// stay links to a manager above and returns when no link upwards is left.
func (l *climber) stay(name string) error {
	if name == l.config.Parent {
		_, err := l.linkUp(l.ctx, name, anyTree)
		return err
	}
	ctx, cancel := context.WithCancel(l.ctx)
	home := make(chan struct{})
	l.work.Go(func() { defer close(home); l.goHome(ctx) })
	_, err := l.linkUp(l.ctx, name, anyTree)
	cancel()
	<-home
	return err
}

// goHome asks the own parent now and then, until the context ends, and links to it
// where it is in the same tree: the link that there was ends then. It returns when the one
// to the parent is gone again.
func (l *climber) goHome(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.wait()):
		}
		l.mu.Lock()
		tree := treeOf(l.Daemon)
		l.mu.Unlock()
		if tree == l.config.Name {
			continue // it has only just been linked, or is so no more
		}
		at, err := l.linkUp(ctx, l.config.Parent, tree)
		if !at.IsZero() {
			l.stayed(time.Since(at))
			return
		}
		l.config.Log.Info("not back at its parent", "neighbour", l.config.Parent, "cause", err)
	}
}

// treeOf is the name of the root above a manager, its own where none is; the mutex is held.
func treeOf(d *Daemon) string {
	for n := range d.conns {
		if path := d.manager.Shape().Path; d.roles[n] == managers.Parent && len(path) > 0 {
			return path[len(path)-1]
		}
	}
	return d.config.Name
}

// loops says whether what a parent tells of the tree above has this manager in it: two
// that joined each other at one instant have seen no loop before.
func loops(d *Daemon, n managers.Neighbour, s *managers.Shape) error {
	if s != nil && d.roles[n] == managers.Parent && slices.Contains(s.Path, d.config.Name) {
		return fmt.Errorf("%s is below %s itself: the tree has a loop", d.names[n], d.config.Name)
	}
	return nil
}

// leave ends the links to other parents, since there is one now. It comes after that one is up,
// so that nobody below hears meanwhile that this manager is a root.
func leave(d *Daemon, to managers.Neighbour) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n, c := range d.conns {
		if n != to && d.roles[n] == managers.Parent {
			d.config.Log.Info("back at its parent", "left", c.peer)
			c.end()
			delete(d.conns, n)
			d.carryOut(d.manager.Down(now(), n))
		}
	}
}
