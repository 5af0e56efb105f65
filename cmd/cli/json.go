package cli

import (
	"bytes"
	"encoding/json"
)

// printJSON writes one document. Its first field is "schema": "grid.<verb>/v1";
// a schema only ever gains fields.
func (a *app) printJSON(verb string, body any) error {
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
	_, err := a.env.Out.Write(append(doc, '\n'))
	return err
}
