// Package all lists every back-end. To add one: write its directory and a
// literal here.
package all

import (
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/arcrest"
	"gridbroker/plugins/central"
	"gridbroker/plugins/htcondor"
	"gridbroker/plugins/local"
	"gridbroker/plugins/slurm"
	"gridbroker/plugins/tree"
	"gridbroker/plugins/wiki"
)

// Backends lists every back-end, in the order of help texts.
func Backends() []plugins.Backend {
	return []plugins.Backend{
		{
			Name: "arc", Schemes: []string{"https"}, URLs: []string{"https://host:port/arex"},
			Interfaces: []string{glue.InterfaceARCREST},
			Foreign:    map[string][]string{glue.InterfaceARCREST: {"https"}},
			Open:       arcrest.Open, Warm: arcrest.Warm,
		},
		{
			Name: "slurm", Schemes: []string{"slurm", "slurm+ssh"}, URLs: []string{"slurm:", "slurm+ssh://user@host"},
			Interfaces: []string{glue.InterfaceSlurm}, Queues: true, Begins: true,
			Open: slurm.Open,
		},
		{
			Name: "condor", Schemes: []string{"condor", "condor+ssh"},
			URLs:       []string{"condor:", "condor+ssh://user@host", "condor://host:port"},
			Interfaces: []string{glue.InterfaceCondor, glue.InterfaceHTCondorCE},
			Foreign:    map[string][]string{glue.InterfaceHTCondorCE: {"https"}},
			Queues:     true, Open: htcondor.Open,
		},
		{
			Name: "wiki", Schemes: wiki.Schemes, URLs: []string{"wiki://host:port"},
			Interfaces: []string{glue.InterfaceWIKI}, ReadOnly: true, Queues: true, Table: "wiki",
			Open: wiki.Open,
		},
		{
			Name: "scheduler", Schemes: []string{central.Scheme, central.PlainScheme}, URLs: []string{"grid://scheduler:port"},
			Interfaces: []string{central.Interface},
			Open:       central.Open,
		},
		{
			Name: "tree", Schemes: []string{tree.Scheme}, URLs: []string{"tree://manager:port"},
			Interfaces: []string{tree.Interface},
			Open:       tree.Open,
		},
		{
			Name: "local", Schemes: []string{"local"}, URLs: []string{"local:"},
			Interfaces: []string{glue.InterfaceLocal}, Queues: true, Table: "local",
			Moves: local.Moves, Open: local.Open, Helpers: local.Helpers(),
		},
	}
}
