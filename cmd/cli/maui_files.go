package cli

import (
	"fmt"
	"io"

	"gridbroker/batch/maui"
)

// readTraceFile reads a file with a reader of one of Maui's formats.
func readTraceFile[T any](path string, read func(io.Reader) (T, error)) (T, error) {
	file, err := openWithin(path, pipeWait)
	if err != nil {
		var none T
		return none, err
	}
	defer file.Close()
	out, err := read(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return out, err
}

// mauiConfig reads a maui.cfg and warns of what is not modelled; without one
// there is none.
func mauiConfig(d *deps, path string) (*maui.Config, error) {
	if path == "" {
		return nil, nil
	}
	var warnings []maui.Warning
	c, err := readTraceFile(abs(d, path), func(r io.Reader) (c *maui.Config, err error) {
		c, warnings, err = maui.ReadConfig(r)
		return c, err
	})
	for _, w := range warnings {
		sayErr(d, "warning: %s:%d: %s: %s", path, w.Line, w.Name, w.Why)
	}
	return c, err
}
