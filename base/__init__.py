"""The ground floor: messages, files and their locks, storage, threads, memory, console, numbers and
progress, for every package. It knows no games. Import from its modules.
"""
