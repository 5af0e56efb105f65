#!/usr/bin/env bash
# Nothing runs between the tests.
true
