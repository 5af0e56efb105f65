//go:build !race

package batch_test

// racing: see race_test.go.
const racing = false
