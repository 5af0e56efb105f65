package ask

import (
	"encoding/json"
	"fmt"

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
	return json.Unmarshal(text, into)
}
