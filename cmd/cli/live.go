package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gridbroker/foreign"
	"gridbroker/jobs"
)

// live shows jobs on a terminal as they go on. show is called with the jobs after every look; stop leaves the last
// picture where it is.
func (a *app) live(ctx context.Context) (show func([]*jobs.Outcome), stop func()) {
	p := tea.NewProgram(&liveModel{width: a.env.Width, height: 24}, tea.WithContext(ctx), tea.WithInput(nil),
		tea.WithOutput(a.env.Out), tea.WithoutSignalHandler(), tea.WithFPS(10))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.Run() // its errors are those of ctx
	}()
	l := &liveView{app: a, began: a.env.Now(), last: map[string]string{}, before: -1}
	show = func(os []*jobs.Outcome) { p.Send(l.look(os)) }
	stop = func() {
		p.Quit()
		<-ended
	}
	return show, stop
}

// liveView remembers what the pictures before have shown.
type liveView struct {
	*app
	began    time.Time
	before   int // jobs that had ended at the first look; -1: none yet
	last     map[string]string
	messages []string
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
	return l.newScreen(os, l.began, l.before, append([]string(nil), l.messages...))
}

// liveModel draws the last picture whenever it or the terminal's size has changed.
type liveModel struct {
	screen        *screen
	width, height int
}

// Init implements tea.Model.
func (m *liveModel) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case *screen:
		m.screen = msg
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	}
	return m, nil
}

// View implements tea.Model.
func (m *liveModel) View() string {
	if m.screen == nil {
		return ""
	}
	return strings.Join(m.screen.draw(m.width, m.height), "\n") + "\n"
}
