package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gridbroker/foreign"
)

// maxValues bounds what an answer has in it: it takes up to a hundred times the bytes in memory that it has as text. A
// forecast of ten thousand queues with its quantiles has as many.
const maxValues = 500_000

// JSON reads an answer of a service, which others may have written, and refuses one of more than 500,000 values.
func JSON(text []byte, into any) error {
	tooMany := func(v foreign.Values) bool { return v.Lists+v.Objects+v.Elements+v.Members > maxValues }
	if tooMany(foreign.CountValues(text, tooMany)) {
		return fmt.Errorf("the answer has more than %d values", maxValues)
	}
	err := json.Unmarshal(text, into)
	if e, ok := errors.AsType[*time.ParseError](err); ok { // it says the whole text twice, each byte as four
		e.Value, e.ValueElem = e.Value[:min(len(e.Value), maxTime)], e.ValueElem[:min(len(e.ValueElem), maxTime)]
	}
	return err
}

// maxTime is how much is told of what should have been a time, in bytes.
const maxTime = 64

// shortAnswer is how long an answer is, in bytes, that is read beside others whatever is in it.
const shortAnswer = 16 << 10

// Alone has read take an answer in, and of those that are long one at a time: who publishes resources may name a service
// of his own for each of them, and each answer may take as much memory as one may. Errors are no longer than anybody reads.
func (c *Client) Alone(ctx context.Context, answer []byte, read func() error) error {
	if len(answer) > shortAnswer {
		c.long.Lock()
		defer c.long.Unlock()
		if ctx.Err() != nil { // nobody waits for it any more
			return context.Cause(ctx)
		}
	}
	return briefly(read())
}

// maxWords bounds what is kept of why a service has no answer, in bytes: its own words are in that.
const maxWords = 1 << 10

// briefly is an error in so many words.
func briefly(err error) error {
	if err == nil || len(err.Error()) <= maxWords {
		return err
	}
	return errors.New(strings.ToValidUTF8(err.Error()[:maxWords], "") + " ...")
}
