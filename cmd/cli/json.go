package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/itchyny/gojq"

	"gridbroker/foreign"
)

// printJSON writes one document. Its first field is "schema": "grid.<verb>/v1";
// a schema only ever gains fields.
func printJSON(d *deps, verb string, body any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // ">=" stays readable
	if err := enc.Encode(body); err != nil {
		return err
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	doc := append([]byte(`{"schema":"grid.`+verb+`/v1"`), ',')
	if len(text) == 2 { // {}
		doc = doc[:len(doc)-1]
	}
	doc = append(doc, text[1:]...)
	if d.jq != "" {
		return printQuery(d, doc)
	}
	_, err := rawOut(d).Write(append(foreign.JSON(doc), '\n'))
	return err
}

// query prints what a jq program makes of a document: texts as they are, anything else as JSON.
func printQuery(d *deps, doc []byte) error {
	q, err := gojq.Parse(d.jq)
	if err != nil {
		return usageError(fmt.Errorf("--jq: %w", err))
	}
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return err
	}
	for it := q.Run(v); ; {
		v, ok := it.Next()
		if !ok {
			return nil
		}
		if err, ok := v.(error); ok {
			return usageError(fmt.Errorf("--jq: %w", err))
		}
		if text, ok := v.(string); ok {
			fmt.Fprintln(d.env.Out, foreign.Lines(text))
			continue
		}
		text, err := gojq.Marshal(v)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.env.Out, "%s\n", foreign.JSON(text))
	}
}
