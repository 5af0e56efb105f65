package cli

import (
	"fmt"
	"io"
	"reflect"

	"gridbroker/cmd/cli/document"
	"gridbroker/foreign"
)

// printJSON writes one document. Its first field is its schema, "grid.<verb>/vN":
// one of Documents, and the body is of the type that stands there.
func printJSON(d *deps, verb string, body any) error {
	name, err := schemaOf(verb, reflect.TypeOf(body))
	if err != nil {
		return err
	}
	doc := []byte(`{"schema":"` + name + `",`)
	begin := len(doc)
	doc, err = document.Append(doc, d.unfound.with(body))
	if err != nil {
		return err
	}
	if doc[begin+1] == '}' { // no field at all
		begin--
	}
	doc = append(doc[:begin], doc[begin+1:]...)
	d.said = true
	if d.query != nil {
		return d.query.print(d, doc)
	}
	_, err = rawOut(d).Write(append(foreign.JSON(doc), '\n'))
	return err
}

// schemaOf is the name of a verb's schema.
func schemaOf(verb string, body reflect.Type) (string, error) {
	for _, d := range Documents() {
		if d.Name == "grid."+verb {
			if d.Type != body {
				return "", fmt.Errorf("the document %s is a %s, not a %s", d.Name, d.Type, body)
			}
			return d.Schema(), nil
		}
	}
	return "", fmt.Errorf("there is no document %s", verb)
}

// Schema is what the document's field "schema" says.
func (d Documented) Schema() string { return fmt.Sprintf("%s/v%d", d.Name, d.Version) }

// printText prints a text that is for people and programs alike, as it is or inside a document.
func printText(d *deps, verb, language, text string) error {
	if d.json {
		return printJSON(d, verb, textDocument{Language: language, Text: text})
	}
	_, err := io.WriteString(rawOut(d), text)
	return err
}

// printFile prints the path of a file that was written.
func printFile(d *deps, verb, path string) error {
	if d.json {
		return printJSON(d, verb, pathDocument{path})
	}
	err := sayOut(d, "%s", path)
	return err
}

// serving says where a daemon listens, now that it does. Whoever reads that may go.
func serving(d *deps, verb, address, text string) {
	outlive()
	if !d.json {
		say(d, d.env.Err, "%s\n", text)
		return
	}
	if err := printJSON(d, "serving", servingDocument{verb, address}); err != nil {
		sayErr(d, "%v", err)
	}
}

// failedJSON says why a verb has failed that has printed no document.
func failedJSON(d *deps, err error, code int) {
	if !d.json || d.said || d.jq != "" {
		return
	}
	doc := errorDocument{Error: foreign.Message(err.Error()), ExitCode: code}
	if err := printJSON(d, "error", doc); err != nil {
		sayErr(d, "%v", err)
	}
}
