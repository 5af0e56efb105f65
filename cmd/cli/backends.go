package cli

import (
	"fmt"

	"gridbroker/plugins/all"
)

// backends opens every back-end with what the configuration says of it.
func (a *app) backends(c config) (*all.Backends, error) {
	b, err := all.Open(all.Options{Local: a.localOptions(c)})
	if err != nil {
		path, _ := a.configPath()
		return nil, usageError(fmt.Errorf("%s: %w", path, err))
	}
	return b, nil
}
