"""What the training runs of all algorithms share: folder, reports, outer loop. Algorithms import
`trainer` and `state`; whatever writes a folder imports `files`, `folder` and `lock`.
"""
