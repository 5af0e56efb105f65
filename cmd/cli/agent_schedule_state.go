package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"gridbroker/durable"
	"gridbroker/plugins/wiki"
)

// maxScheduleState bounds what is read of a scheduler's memory, in bytes.
const maxScheduleState = 256 << 20

// recallSchedule takes in what a scheduler remembered when it ended. There need
// be nothing yet.
func recallSchedule(d *deps, f scheduleOptions, decider wiki.Decider) error {
	if f.state == "" {
		return nil
	}
	m, ok := decider.(wiki.Maui)
	if !ok {
		return fmt.Errorf("--state: the policy %s remembers nothing", f.policy)
	}
	text, err := durable.ReadFile(abs(d, f.state), maxScheduleState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if err := m.Scheduler.Recall(text); err != nil {
		return fmt.Errorf("%s: %w", f.state, err)
	}
	return nil
}

// keepSchedule writes what a scheduler remembers, whole or not at all.
func keepSchedule(d *deps, f scheduleOptions, decider wiki.Decider) error {
	m, ok := decider.(wiki.Maui)
	if f.state == "" || f.dry || !ok {
		return nil
	}
	text, err := m.Scheduler.Memory()
	if err != nil {
		return err
	}
	return durable.WriteFile(abs(d, f.state), text)
}
