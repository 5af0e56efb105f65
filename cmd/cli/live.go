package cli

import (
	"fmt"
	"time"

	"gridbroker/foreign"
	"gridbroker/jobs"
)

// live shows jobs on a terminal as they go on, each picture in the place of the one before.
func liveTable(d *deps) func([]*jobs.Outcome) {
	l := &liveView{deps: d, began: d.env.Now(), last: map[string]string{}, before: -1, out: &picture{out: rawOut(d)}}
	return l.show
}

// liveView remembers what the pictures before have shown.
type liveView struct {
	*deps
	out      *picture
	began    time.Time
	before   int // jobs that had ended at the first look; -1: none yet
	last     map[string]string
	messages []string
}

// show draws the jobs as they are now, as large as the terminal is now.
func (l *liveView) show(os []*jobs.Outcome) {
	if len(os) == 0 { // nothing was sent, which is said already
		return
	}
	width, height, ok := l.out.size()
	if !ok {
		width, height = l.env.Width, 24
	}
	l.out.draw(l.look(os).draw(width, height), width, height)
}

// look makes the next picture, with what has changed as messages.
func (l *liveView) look(os []*jobs.Outcome) *screen {
	ended := 0
	for _, o := range os {
		if o.Final() {
			ended++
		}
		now := line(o)
		if before, ok := l.last[o.ID]; ok && before != now {
			l.messages = append(l.messages, fmt.Sprintf("%s  %s", l.env.Now().Format(time.TimeOnly), foreign.Text(now)))
		}
		l.last[o.ID] = now
	}
	if l.before < 0 {
		l.before = ended
	}
	l.messages = l.messages[max(0, len(l.messages)-20):]
	return newScreen(l.deps, os, l.began, l.before, append([]string(nil), l.messages...))
}
