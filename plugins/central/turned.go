package central

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// Of several replicas of a scheduler the one that answered where another did not is asked first for a while, by the
// commands that come after, too: each of them would wait anew for one that hangs.

// turnedTime is for how long.
const turnedTime = time.Minute

// turned is what commands tell each other of a scheduler.
type turned struct {
	Base  string    `json:"base"` // which replica is asked first
	Until time.Time `json:"until"`
}

// turning is where that is told; without a file it is not.
type turning struct {
	file string
	now  func() time.Time
}

// turningOf is that of a scheduler of several replicas.
func turningOf(conf *plugins.Config, endpoint string) turning {
	if conf.StateDir == "" {
		return turning{}
	}
	sum := sha256.Sum256([]byte(endpoint))
	return turning{filepath.Join(conf.StateDir, "schedulers", hex.EncodeToString(sum[:12])+".json"), conf.Now}
}

// begin has the replica asked first that answered a command of a moment ago.
func (t turning) begin(r *plugins.Replicas) {
	if t.file == "" {
		return
	}
	var was turned
	text, err := durable.ReadFile(t.file, 4<<10)
	if now := t.now(); err == nil && json.Unmarshal(text, &was) == nil && now.Before(was.Until) && was.Until.Sub(now) <= turnedTime {
		r.Begin(was.Base)
	}
}

// to tells later commands which replica answers. Failing to costs them the time that it cost this one.
func (t turning) to(base string) {
	if t.file == "" || os.MkdirAll(filepath.Dir(t.file), 0o700) != nil {
		return
	}
	if text, err := json.Marshal(turned{base, t.now().Add(turnedTime)}); err == nil {
		_ = durable.WriteFile(t.file, text)
	}
}
