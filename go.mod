module github.com/axsched/ax

go 1.26.0
