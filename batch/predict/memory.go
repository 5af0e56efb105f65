package predict

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"gridbroker/batch"
)

// memory is the document in which a Model keeps what it has learned. It only
// ever gains fields.
type memory struct {
	Schema     string          `json:"schema"` // memorySchema
	Regression regression      `json:"regression"`
	Correction correction      `json:"correction"`
	Waits      waits           `json:"waits"`
	Idle       recent          `json:"idle"`
	Drift      drift           `json:"drift"`
	Errors     *batch.Errors   `json:"errors"`
	Loss       [ways]float64   `json:"loss"`
	Judged     int64           `json:"judged"`
	Open       []promiseMemory `json:"open"` // in the order of their IDs
}

type promiseMemory struct {
	ID      string                 `json:"id"`
	Made    int64                  `json:"made"`
	Outlook Outlook                `json:"outlook"`
	Raw     [ways][nLevels]float64 `json:"raw"`
	Told    [nLevels]float64       `json:"told"`
	Decided int                    `json:"decided"`
}

const memorySchema = "grid.predict-memory/v1"

// MarshalJSON implements json.Marshaler: all that was learned, and the promises
// whose outcome is still to come.
func (m *Model) MarshalJSON() ([]byte, error) {
	doc := memory{
		Schema: memorySchema, Regression: m.regression, Correction: m.correction, Waits: m.waits, Idle: m.idle, Drift: m.drift,
		Errors: &m.errors, Loss: m.loss, Judged: m.judged,
	}
	for _, id := range slices.Sorted(maps.Keys(m.open)) {
		p := m.open[id]
		k := promiseMemory{ID: id, Made: p.made, Outlook: p.outlook, Told: p.told.at, Decided: p.decided}
		for i, d := range p.raw {
			k.Raw[i] = d.at
		}
		doc.Open = append(doc.Open, k)
	}
	return json.Marshal(doc)
}

// UnmarshalJSON implements json.Unmarshaler: it takes in what was learned in
// place of all that was known.
func (m *Model) UnmarshalJSON(document []byte) error {
	doc := memory{Regression: newRegression(), Correction: newCorrection(), Waits: newWaits()}
	if err := json.Unmarshal(document, &doc); err != nil {
		return fmt.Errorf("memory of a model: %w", err)
	}
	if err := doc.check(); err != nil {
		return fmt.Errorf("memory of a model: %w", err)
	}
	fresh := NewModel()
	fresh.regression, fresh.correction, fresh.waits, fresh.drift = doc.Regression, doc.Correction, doc.Waits, doc.Drift
	if doc.Errors != nil {
		fresh.errors = *doc.Errors
	}
	fresh.idle, fresh.loss, fresh.judged = doc.Idle, doc.Loss, doc.Judged
	for _, k := range doc.Open {
		p := &promise{id: k.ID, made: k.Made, outlook: k.Outlook, told: Distribution{k.Told}, decided: k.Decided}
		for i, at := range k.Raw {
			p.raw[i] = Distribution{at}
		}
		if p.outlook.seen() {
			p.facts = p.outlook.facts()
		}
		p.classes = p.outlook.classes(p.told.at[nLevels/2])
		fresh.open[k.ID] = p
		fresh.expect(p)
	}
	*m = *fresh
	return nil
}

// check finds what no model has written.
func (d *memory) check() error {
	if d.Schema != memorySchema {
		return fmt.Errorf("schema %q, want %q", d.Schema, memorySchema)
	}
	if len(d.Regression.Past) > past || !(d.Regression.Mean > 0) || d.Regression.Count < 0 {
		return fmt.Errorf("%d samples, mean %g", len(d.Regression.Past), d.Regression.Mean)
	}
	if d.Correction.Shift == nil || d.Waits.Classes == nil {
		return fmt.Errorf("corrections or classes of waits are missing")
	}
	for name, s := range d.Correction.Shift {
		if s == nil {
			return fmt.Errorf("correction of %q is missing", name)
		}
	}
	for name, r := range d.Waits.Classes {
		if r == nil || !r.fit(keptWaits) {
			return fmt.Errorf("waits of class %q", name)
		}
	}
	if !d.Waits.All.fit(keptOfAll) || !d.Idle.fit(keptWaits) {
		return fmt.Errorf("waits of all, or of those that start at once")
	}
	for _, p := range d.Open {
		if p.Decided < 0 || p.Decided > nLevels || p.ID == "" {
			return fmt.Errorf("promise %q with %d outcomes", p.ID, p.Decided)
		}
	}
	return nil
}
