package cli

import (
	"encoding/json"
	"fmt"
	"strings"
)

// sweepPoint is one combination of swept values.
type sweepPoint[T any] struct {
	params T
	swept  []string
}

// maxCombinations bounds those of swept values.
const maxCombinations = 100_000

// sweepPoints sets parameters (KEY=VALUE) and returns every combination of the
// swept ones (KEY=V1,V2,...), with the names swept. Keys are names in JSON.
func sweepPoints[T any](base T, set, sweep []string) (points []sweepPoint[T], names []string, err error) {
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, nil, fmt.Errorf("--set %q: want KEY=VALUE", s)
		}
		if err := setParam(&base, key, value); err != nil {
			return nil, nil, err
		}
	}
	points = []sweepPoint[T]{{params: base}}
	for _, s := range sweep {
		key, values, ok := strings.Cut(s, "=")
		if !ok {
			return nil, nil, fmt.Errorf("--sweep %q: want KEY=V1,V2 and so on", s)
		}
		names = append(names, key)
		if n := 1 + strings.Count(values, ","); n > maxCombinations/len(points) {
			return nil, nil, fmt.Errorf("--sweep %s: with it there are more than %d combinations to run", key, maxCombinations)
		}
		var more []sweepPoint[T]
		for _, p := range points {
			for value := range strings.SplitSeq(values, ",") {
				q := sweepPoint[T]{params: p.params, swept: append(p.swept[:len(p.swept):len(p.swept)], value)}
				if err := setParam(&q.params, key, value); err != nil {
					return nil, nil, err
				}
				more = append(more, q)
			}
		}
		points = more
	}
	return points, names, nil
}

// setParam sets one parameter by its name in JSON; words need no quotes.
func setParam[T any](p *T, key, value string) error {
	raw := json.RawMessage(value)
	if !json.Valid(raw) {
		raw, _ = json.Marshal(value)
	}
	doc, err := json.Marshal(map[string]json.RawMessage{key: raw})
	if err != nil {
		return fmt.Errorf("%s = %s: %w", key, value, err)
	}
	dec := json.NewDecoder(strings.NewReader(string(doc)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		return fmt.Errorf("%s = %s: no such parameter or value (see --help)", key, value)
	}
	return nil
}
