package cli

import "encoding/json"

// printJSON writes one document. Its first field is "schema": "grid.<verb>/v1";
// a schema only ever gains fields.
func (a *app) printJSON(verb string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	doc := append([]byte(`{"schema":"grid.`+verb+`/v1"`), ',')
	if len(text) == 2 { // {}
		doc = doc[:len(doc)-1]
	}
	doc = append(doc, text[1:]...)
	_, err = a.env.Out.Write(append(doc, '\n'))
	return err
}
