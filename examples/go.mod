module github.com/axsched/ax/examples

go 1.26.0

require github.com/axsched/ax v0.0.0

replace github.com/axsched/ax => ../
